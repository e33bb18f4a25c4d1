// Charts over time: axes, zoom, cursor. SVG for axes, a canvas below them for what has thousands of parts.


// Charts with the same link have one domain, one cursor.
const groups = new Map();
const groupOf = (chart) => {
  const key = chart.link ? 'link ' + chart.link : chart.id;
  if (!groups.has(key)) groups.set(key, { members: [], full: [Infinity, -Infinity], domain: null, cursor: null });
  return groups.get(key);
};

class TimeChart {
  constructor(data, extent) {
    this.data = data;
    this.figure = document.getElementById(data.id);
    this.plot = document.getElementById(data.id + '-plot');
    this.group = groupOf(data);
    this.group.members.push(this);
    this.group.full = [Math.min(this.group.full[0], extent[0]), Math.max(this.group.full[1], extent[1])];
    this.xUnit = data.xUnit || 'seconds';
    this.margin = { left: 48, right: 14, top: 8, bottom: data.xLabel ? 36 : 24 };
    this.tools();
  }

  // A chart of one instant still needs a width.
  domain() {
    const { full, domain } = this.group;
    if (domain) return domain;
    if (full[1] > full[0]) return full;
    const around = Math.abs(full[0]) * 0.5 || 0.5;
    return [full[0] - around, full[0] + around];
  }
  x(value) {
    const [low, high] = this.domain();
    return this.margin.left + (value - low) / (high - low) * this.inner;
  }
  time(x) {
    const [low, high] = this.domain();
    return low + clamp((x - this.margin.left) / this.inner, 0, 1) * (high - low);
  }

  // A time in as many digits as the zoom makes differ.
  when(time) {
    const [low, high] = this.domain();
    const { by, symbol } = scaleOf(this.xUnit, Math.max(Math.abs(low), Math.abs(high)));
    const digits = clamp(Math.ceil(-Math.log10((high - low) / this.inner / by)), 0, 12);
    return separated(time / by, digits) + (symbol ? ' ' + symbol : '');
  }

  tools() {
    this.figure.classList.add('zooms');
    const button = (label, title, act) => {
      const made = element('button', { type: 'button', title, 'aria-label': title }, label);
      made.addEventListener('click', act);
      return made;
    };
    this.reset = button('Reset', 'Show all of the time', () => this.setDomain(null));
    this.figure.prepend(element('div', { class: 'tools' },
      button('−', 'Zoom out', () => this.zoom(2)), button('+', 'Zoom in', () => this.zoom(0.5)), this.reset));
  }
  zoom(factor, around) {
    const [low, high] = this.domain();
    const centre = around === undefined ? (low + high) / 2 : around;
    this.setDomain([centre - (centre - low) * factor, centre + (high - centre) * factor]);
  }
  pan(share) {
    const [low, high] = this.domain();
    const [least, most] = this.group.full;
    const by = clamp((high - low) * share, least - low, most - high);
    this.setDomain([low + by, high + by]);
  }
  setDomain(domain) {
    const [least, most] = this.group.full;
    if (domain) {
      domain = [Math.max(least, domain[0]), Math.min(most, domain[1])];
      // Finer than the numbers themselves there is nothing to see.
      const finest = Math.max(Math.abs(least), Math.abs(most)) * 1e-9;
      if (!(domain[1] - domain[0] > finest)) return;
      if (domain[0] <= least && domain[1] >= most) domain = null;
    }
    this.group.domain = domain;
    hideTip();
    drawn(this.group.members);
  }

  // The axes; answers with the group in which the chart draws, cut off at the axes.
  begin(height, yTicks) {
    const width = Math.max(160, this.plot.clientWidth);
    this.width = width;
    this.height = height;
    this.inner = width - this.margin.left - this.margin.right;
    this.bottom = height - this.margin.bottom;
    if (this.svg) this.svg.remove();
    this.svg = shape(this.plot, 'svg', {
      width, height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: 'img', 'aria-label': this.describe(),
    });
    this.reset.disabled = !this.group.domain;
    if (yTicks) this.yAxis(yTicks);
    this.xAxis();
    const clip = this.data.id + '-clip';
    const clipping = shape(shape(this.svg, 'defs', {}), 'clipPath', { id: clip });
    shape(clipping, 'rect', {
      x: this.margin.left, y: 0, width: Math.max(0, this.inner), height: this.bottom + 1,
    });
    this.listen();
    return shape(this.svg, 'g', { 'clip-path': `url(#${clip})` });
  }
  xAxis() {
    const [low, high] = this.domain();
    let wanted = clamp(Math.floor(this.inner / 90), 1, 12);
    let made = axisTicks(low, high, wanted, this.xUnit);
    // Deep in, labels are long: fewer of them.
    while (wanted > 1 && made.at.length * (widthOf(made.at[made.at.length - 1].label + made.symbol) + 20) > this.inner) {
      wanted -= 1;
      made = axisTicks(low, high, wanted, this.xUnit);
    }
    const y = this.bottom;
    shape(this.svg, 'line', { class: 'axis', x1: this.margin.left, x2: this.width - this.margin.right, y1: y, y2: y });
    for (const { value, label } of made.at) {
      const x = this.x(value);
      if (x < this.margin.left - 1 || x > this.width - this.margin.right + 1) continue;
      const text = made.symbol ? `${label} ${made.symbol}` : label;
      const half = widthOf(text) / 2;
      shape(this.svg, 'line', { class: 'axis', x1: x, x2: x, y1: y, y2: y + 4 });
      shape(this.svg, 'text', { x: clamp(x, half, this.width - half), y: y + 17, 'text-anchor': 'middle' }, text);
    }
    if (this.data.xLabel) {
      shape(this.svg, 'text', { x: this.margin.left + this.inner / 2, y: y + 32, 'text-anchor': 'middle' }, this.data.xLabel);
    }
  }
  yAxis({ at, symbol, y }) {
    at.forEach(({ value, label }, n) => {
      const last = n === at.length - 1 && symbol;
      shape(this.svg, 'line', { class: 'grid', x1: this.margin.left, x2: this.width - this.margin.right, y1: y(value), y2: y(value) });
      shape(this.svg, 'text', { x: this.margin.left - 7, y: y(value) + 4, 'text-anchor': 'end' }, last ? `${label} ${symbol}` : label);
    });
  }

  listen() {
    const svg = this.svg;
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let from = null;
    let brush = null;
    let panning = null;
    svg.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || event.pointerType === 'touch') return;
      const [x] = at(event);
      if (event.shiftKey) panning = x; else from = x;
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener('pointermove', (event) => {
      const [x, y] = at(event);
      if (panning !== null) {
        // The chart is drawn anew below the pointer, which takes the capture away: one step per gesture suffices.
        return;
      }
      if (from !== null && Math.abs(x - from) > 3) {
        const [low, high] = [from, x].sort((a, b) => a - b)
          .map((edge) => clamp(edge, this.margin.left, this.width - this.margin.right));
        brush = brush || shape(svg, 'rect', { class: 'brush', y: 0, height: this.bottom });
        brush.setAttribute('x', low);
        brush.setAttribute('width', high - low);
        hideTip();
        return;
      }
      const inside = x >= this.margin.left && x <= this.width - this.margin.right && y <= this.bottom;
      this.setCursor(inside ? this.time(x) : null);
      if (inside) this.hover(event, x, y); else hideTip();
    });
    const end = (event) => {
      const [x] = at(event);
      if (panning !== null && Math.abs(x - panning) > 3) this.pan((panning - x) / this.inner);
      else if (brush) this.setDomain([from, x].map((edge) => this.time(edge)).sort((a, b) => a - b));
      if (brush) brush.remove();
      from = brush = panning = null;
    };
    svg.addEventListener('pointerup', end);
    svg.addEventListener('pointercancel', () => { if (brush) brush.remove(); from = brush = panning = null; });
    svg.addEventListener('pointerleave', () => { this.setCursor(null); hideTip(); });
    svg.addEventListener('dblclick', () => this.setDomain(null));
    svg.addEventListener('wheel', (event) => {
      // The plain wheel scrolls the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(at(event)[0]));
    }, { passive: false });
    svg.addEventListener('keydown', (event) => {
      const acts = {
        '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2), '0': () => this.setDomain(null),
        ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
      };
      if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[event.key]();
      this.svg.focus();
    });
  }
  setCursor(time) {
    this.group.cursor = time;
    for (const member of this.group.members) member.drawCursor();
  }
  drawCursor() {
    if (this.cursorLine) this.cursorLine.remove();
    this.cursorLine = null;
    const time = this.group.cursor;
    if (time === null || !this.svg) return;
    const x = this.x(time);
    this.cursorLine = shape(this.svg, 'line', { class: 'cursor', x1: x, x2: x, y1: 0, y2: this.bottom });
  }
  describe() {
    const [low, high] = this.domain();
    const title = document.getElementById(this.data.id + '-title').textContent;
    return `${title}, from ${show(low, this.xUnit)} to ${show(high, this.xUnit)}. ` +
      'Plus and minus zoom, arrows move, 0 shows all; the values are in the table below.';
  }
  empty() {
    this.figure.classList.remove('zooms');
    const tools = this.figure.querySelector('.tools');
    // It is drawn more than once.
    if (tools) tools.remove();
    this.plot.replaceChildren(element('p', { class: 'empty' }, 'No data'));
  }
  // A canvas below the axes, sharp on every screen.
  canvas() {
    if (!this.surface) {
      this.surface = element('canvas', { 'aria-hidden': 'true' });
      this.plot.prepend(this.surface);
    }
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    this.surface.width = Math.round(this.width * ratio);
    this.surface.height = Math.round(this.height * ratio);
    this.surface.style.width = this.width + 'px';
    this.surface.style.height = this.height + 'px';
    const context = this.surface.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.beginPath();
    context.rect(this.margin.left, 0, this.inner, this.bottom);
    context.clip();
    return context;
  }
  // Labels of rows, left of the axis.
  labels(rows) {
    const room = clamp(this.plot.clientWidth * 0.3, 60, 180);
    const longest = Math.max(20, ...rows.map((row) => widthOf(row.label)));
    this.setLeft(Math.ceil(Math.min(longest, room)) + 12);
  }
  // Linked charts have the same left edge, so that one instant is at one place in all of them.
  setLeft(own) {
    this.left = own;
    this.margin.left = Math.max(...this.group.members.map((member) => member.left || 0));
  }
  label(text, y) {
    shape(this.svg, 'text', { x: this.margin.left - 7, y: y + 4, 'text-anchor': 'end' },
      shorten(text, this.margin.left - 12)).append(title(text));
  }
}
const title = (text) => {
  const made = document.createElementNS(NS, 'title');
  made.textContent = text;
  return made;
};

// The last index whose x is not past this one; -1 if there is none.
const indexAt = (xs, x) => {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle + 1; else high = middle;
  }
  return low - 1;
};
