// The charts.

// A series as `count` means with their extremes, where a line through all its points would only be a blot. The same as
// `downsample` does before a series is embedded, for the part that is looked at.
const condense = ({ x, y }, [from, to], count, steps) => {
  const sums = Array.from({ length: count }, () => ({ low: Infinity, high: -Infinity, area: 0, held: 0, sum: 0, n: 0 }));
  const extremes = (sum, value) => { sum.low = Math.min(sum.low, value); sum.high = Math.max(sum.high, value); };
  const position = (value) => (value - from) / (to - from) * count;
  for (let at = Math.max(0, indexAt(x, from)); at < x.length && x[at] <= to; at += 1) {
    if (y[at] === null) continue;
    const begin = Math.max(0, position(x[at]));
    if (x[at] >= from) {
      const sum = sums[Math.min(Math.floor(begin), count - 1)];
      extremes(sum, y[at]);
      sum.sum += y[at];
      sum.n += 1;
    }
    const end = Math.min(count, at + 1 < x.length ? position(x[at + 1]) : count);
    for (let n = Math.floor(begin); steps && n < end; n += 1) {
      const held = Math.min(end, n + 1) - Math.max(begin, n);
      extremes(sums[n], y[at]);
      sums[n].area += y[at] * held;
      sums[n].held += held;
    }
  }
  const made = { x: [], y: [], low: [], high: [] };
  sums.forEach((sum, n) => {
    const some = sum.low <= sum.high;
    if (!some && !steps) return;
    made.x.push(from + (to - from) * (n / count));
    made.y.push(some ? (sum.held > 0 ? sum.area / sum.held : sum.sum / sum.n) : null);
    made.low.push(some ? sum.low : null);
    made.high.push(some ? sum.high : null);
  });
  return made;
};

// --- Lines, steps, stacked areas ---------------------------------------------------------------------------------

class Lines extends TimeChart {
  constructor(data) {
    const xs = data.series.flatMap((series) => (series.x.length ? [series.x[0], series.x[series.x.length - 1]] : []));
    super(data, xs.length ? [Math.min(...xs), Math.max(...xs)] : [Infinity, -Infinity]);
    this.hasData = xs.length > 0;
    this.hidden = new Set();
    this.legend();
  }
  legend() {
    if (this.data.series.length < 2) return;
    const list = element('ul', { class: 'legend' });
    this.data.series.forEach((series, n) => {
      const made = element('button', { type: 'button', 'aria-pressed': 'true', title: series.label },
        swatch(n, !this.data.stacked), element('span', { class: 'word' }, series.label));
      made.addEventListener('click', () => {
        if (!this.hidden.delete(n)) this.hidden.add(n);
        made.setAttribute('aria-pressed', String(!this.hidden.has(n)));
        drawn(this.group.members);
      });
      list.append(element('li', {}, made));
    });
    this.plot.before(list);
  }
  value(series, x) {
    const at = indexAt(series.x, x);
    if (at < 0) return null;
    const [here, next] = [series.y[at], series.y[at + 1]];
    if (this.data.steps || at === series.x.length - 1) {
      // The last value holds until the end of the chart only where values hold at all.
      return this.data.steps || series.x[at] === x ? here : null;
    }
    if (here === null || next === null) return here;
    const share = (x - series.x[at]) / (series.x[at + 1] - series.x[at]);
    return Number.isFinite(share) ? here + (next - here) * share : here;
  }
  // What is drawn: for each visible series its points, or its means with their extremes, and what it stands on.
  layers() {
    const domain = this.domain();
    const visible = this.data.series.map((series, n) => ({ ...series, n, base: null })).filter(({ n }) => !this.hidden.has(n));
    const seen = ({ x }) => indexAt(x, domain[1]) - indexAt(x, domain[0]);
    const dense = (series) => seen(series) > this.plot.clientWidth;
    const count = Math.max(16, Math.floor(this.plot.clientWidth / 2));
    const thin = (series) => ({ ...series, ...condense(series, domain, count, this.data.steps) });
    if (!this.data.stacked) {
      // What was thinned before is as thin as it gets.
      return visible.map((series) => (!series.low && dense(series) ? thin(series) : series));
    }
    // On each other stand the means.
    const parts = visible.some(dense) ? visible.map(thin) : visible;
    const xs = [...new Set(parts.flatMap((part) => part.x))].sort((a, b) => a - b);
    let base = xs.map(() => 0);
    return parts.map((part) => {
      const y = xs.map((x, at) => base[at] + Math.max(0, this.value(part, x) || 0));
      const layer = { n: part.n, x: xs, y, base };
      base = y;
      return layer;
    });
  }
  draw() {
    if (!this.hasData) return this.empty();
    const layers = this.layers();
    let [least, most] = [0, 0];
    const [from, to] = this.domain();
    for (const { x, y, low = y, high = y } of layers) {
      for (let at = 0; at < x.length; at += 1) {
        // What is out of sight does not count, but what holds from before does.
        if (y[at] === null || x[at] > to || (x[at] < from && !(x[at + 1] >= from) && at + 1 < x.length)) continue;
        least = Math.min(least, low[at]);
        most = Math.max(most, high[at]);
      }
    }
    for (const mark of this.data.marks) { least = Math.min(least, mark.value); most = Math.max(most, mark.value); }
    if (!(most > least)) most = least + 1;
    if (this.data.unit === 'share' && most > 0.5 && most < 1) most = 1;
    const height = 210;
    const scale = axisTicks(least, most * 1.02, 4, this.data.unit);
    const top = Math.max(most * (least < 0 || most > 0 ? 1.04 : 1), scale.at[scale.at.length - 1].value);
    const bottom = least < 0 ? least * 1.04 : 0;
    const plain = height - this.margin.top - this.margin.bottom;
    const y = (value) => this.margin.top + (1 - (value - bottom) / (top - bottom)) * plain;
    const wide = scale.at.map(({ label }, n) => widthOf(n === scale.at.length - 1 && scale.symbol ? `${label} ${scale.symbol}` : label));
    this.setLeft(Math.ceil(Math.max(24, ...wide)) + 12);
    const area = this.begin(height, { ...scale, y });
    for (const layer of layers) this.layer(area, layer, y, layers.length);
    for (const mark of this.data.marks) {
      shape(area, 'line', { class: 'mark', x1: this.margin.left, x2: this.width, y1: y(mark.value), y2: y(mark.value) });
      shape(this.svg, 'text', { class: 'halo', x: this.width - this.margin.right - 2, y: y(mark.value) - 5, 'text-anchor': 'end' },
        `${mark.label} · ${show(mark.value, this.data.unit)}`);
    }
    this.drawCursor();
  }
  // One series: its line, in pieces where there are gaps, and its area.
  layer(area, { n, x, y: values, base, low, high }, y, layers) {
    const paths = [];
    let piece = [];
    const close = () => { if (piece.length) paths.push(piece); piece = []; };
    const [from, to] = this.domain();
    const first = Math.max(0, indexAt(x, from));
    for (let at = first; at < x.length; at += 1) {
      if (values[at] === null) { close(); continue; }
      piece.push(at);
      if (x[at] > to) break;
    }
    close();
    const end = this.data.steps ? Math.min(to, this.group.full[1]) : null;
    // Far out of sight is as good as further out, which would not be written as a plain number.
    const number = (value) => clamp(value, -1e9, 1e9).toFixed(1);
    const track = (piece, heights) => {
      const points = piece.map((at) => [this.x(x[at]), y(heights[at])]);
      // A value that holds does so until the next one, be that a gap, or the end.
      const last = piece[piece.length - 1];
      if (this.data.steps) {
        const until = last + 1 < x.length ? x[last + 1] : Math.max(end, x[last]);
        points.push([this.x(until), points[points.length - 1][1]]);
      }
      return points;
    };
    const path = (points) => points.map(([px, py], at) => {
      if (at === 0) return `M${number(px)},${number(py)}`;
      return this.data.steps ? `H${number(px)}V${number(py)}` : `L${number(px)},${number(py)}`;
    }).join('');
    for (const piece of paths) {
      const points = track(piece, values);
      const lone = points.length === 1 || (points.length === 2 && points[0][0] === points[1][0]);
      const fill = (ceiling, floor, opacity) => {
        let back = '';
        for (let at = floor.length - 1; at >= 0; at -= 1) {
          const [px, py] = floor[at];
          // Backwards, a step goes up or down before it goes left.
          back += this.data.steps && at < floor.length - 1 ? `V${number(py)}H${number(px)}` : `L${number(px)},${number(py)}`;
        }
        shape(area, 'path', { d: path(ceiling) + back + 'Z', style: `fill:var(--c${n % COLOURS});opacity:${opacity};stroke:none` });
      };
      if (base) fill(points, track(piece, base), 0.75);
      else if (layers === 1) fill(points, [[points[0][0], y(0)], [points[points.length - 1][0], y(0)]], 0.1);
      if (low) fill(track(piece, high), track(piece, low), 0.22);
      if (lone) shape(area, 'circle', { cx: points[0][0], cy: points[0][1], r: 3, style: `fill:var(--c${n % COLOURS})` });
      else if (!this.data.stacked) shape(area, 'path', { d: path(points), style: lineStyle(n) });
    }
  }
  said(series, time) {
    const mean = show(this.value(series, time), this.data.unit);
    const at = indexAt(series.x, time);
    if (!series.low || at < 0 || series.y[at] === null || series.low[at] === series.high[at]) return mean;
    return `${mean} (${show(series.low[at], this.data.unit)} to ${show(series.high[at], this.data.unit)})`;
  }
  hover(event, x) {
    const time = this.time(x);
    const lines = this.data.series.map((series, n) => ({ series, n })).filter(({ n }) => !this.hidden.has(n))
      .map(({ series, n }) => ({ swatch: swatch(n, !this.data.stacked), label: series.label, value: this.said(series, time) }));
    // As they stand on each other.
    if (this.data.stacked) lines.reverse();
    showTip(event, this.when(time), lines.slice(0, 16), lines.length > 16 ? [`and ${lines.length - 16} more`] : []);
  }
}

// --- Heat map ------------------------------------------------------------------------------------------------------

const ramp = () => [0, 1, 2, 3, 4].map((n) => {
  const hex = colour('--h' + n);
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
});
const mix = (stops, share) => {
  const at = clamp(share, 0, 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return stops[low].map((value, n) => Math.round(value + (stops[low + 1][n] - value) * (at - low)));
};

class Heat extends TimeChart {
  constructor(data) {
    super(data, data.rows.length && data.columns ? [data.start, data.start + data.columns * data.step] : [Infinity, -Infinity]);
    const values = data.rows.flatMap((row) => row.values.filter((value) => value !== null));
    this.most = data.full || values.reduce((most, value) => Math.max(most, value), 0) || 1;
    this.hasData = data.rows.length > 0 && data.columns > 0;
    if (!this.hasData) return;
    this.plot.before(element('div', { class: 'legend' }, element('span', { class: 'key' },
      show(0, data.unit), element('span', { class: 'ramp', 'aria-hidden': 'true' }), show(this.most, data.unit))));
  }
  picture() {
    const { rows } = this.data;
    const columns = Math.max(...rows.map((row) => row.values.length));
    const picture = element('canvas', { width: columns, height: rows.length });
    const context = picture.getContext('2d');
    const image = context.createImageData(columns, rows.length);
    const stops = ramp();
    rows.forEach((row, r) => row.values.forEach((value, c) => {
      if (value === null) return;
      image.data.set([...mix(stops, value / this.most), 255], (r * columns + c) * 4);
    }));
    context.putImageData(image, 0, 0);
    return picture;
  }
  draw() {
    if (!this.hasData) return this.empty();
    const { rows, start, step } = this.data;
    this.row = clamp(Math.floor(320 / rows.length), 3, 22);
    this.labels(rows);
    const height = this.margin.top + rows.length * this.row + this.margin.bottom;
    this.begin(height, null);
    const context = this.canvas();
    const picture = this.picture();
    context.imageSmoothingEnabled = false;
    const [left, right] = [this.x(start), this.x(start + picture.width * step)];
    // Rows are drawn one by one, with a hair between them where there is room for it.
    const gap = this.row >= 8 ? 1 : 0;
    rows.forEach((_, r) => context.drawImage(picture, 0, r, picture.width, 1,
      left, this.margin.top + r * this.row, right - left, this.row - gap));
    const every = Math.ceil(13 / this.row);
    rows.forEach((row, r) => { if (r % every === 0) this.label(row.label, this.margin.top + (r + 0.5) * this.row); });
    this.drawCursor();
  }
  hover(event, x, y) {
    const { rows, start, step, unit } = this.data;
    const row = rows[Math.floor((y - this.margin.top) / this.row)];
    if (!row) return hideTip();
    const at = Math.floor((this.time(x) - start) / step);
    showTip(event, this.when(this.time(x)), [{ label: row.label, value: show(row.values[at], unit) }]);
  }
}

// --- Spans in lanes ------------------------------------------------------------------------------------------------

class Gantt extends TimeChart {
  constructor(data) {
    let [first, last] = [Infinity, -Infinity];
    data.start.forEach((start, n) => { first = Math.min(first, start); last = Math.max(last, start + data.length[n]); });
    super(data, [first, last]);
    this.hasData = data.start.length > 0;
    this.kinds();
  }
  // Colours go to the kinds that took longest; the rest share the last one.
  kinds() {
    const time = new Map();
    this.data.kinds.forEach((kind, n) => time.set(kind, (time.get(kind) || 0) + this.data.length[n]));
    const ordered = [...time.keys()].sort((a, b) => time.get(b) - time.get(a));
    const named = ordered.filter((kind) => this.data.texts[kind] !== '');
    // Very many kinds, as the numbers of events, tell neighbours apart in turn; no legend could name them.
    if (named.length > 3 * COLOURS) {
      const seen = [...time.keys()].filter((kind) => this.data.texts[kind] !== '');
      this.colours = new Map(seen.map((kind, n) => [kind, n % COLOURS]));
      return;
    }
    const own = named.length > COLOURS ? COLOURS - 1 : COLOURS;
    this.colours = new Map(named.map((kind, n) => [kind, Math.min(n, own)]));
    if (!named.length) return;
    const list = element('ul', { class: 'legend' });
    const key = (n, text) => list.append(element('li', { class: 'key', title: text }, swatch(n, false), element('span', { class: 'word' }, text)));
    named.slice(0, own).forEach((kind, n) => key(n, this.data.texts[kind]));
    if (named.length > own) key(own, `${named.length - own} others`);
    this.plot.before(list);
  }
  draw() {
    if (!this.hasData) return this.empty();
    const { data } = this;
    this.labels(data.lanes);
    const rows = data.lanes.reduce((sum, lane) => sum + lane.rows, 0);
    this.row = clamp(Math.floor(420 / rows), 4, 24);
    const between = this.row >= 8 ? 4 : 2;
    this.tops = [];
    let y = this.margin.top;
    for (const lane of data.lanes) { this.tops.push(y); y += lane.rows * this.row + between; }
    this.begin(y + this.margin.bottom, null);
    const every = Math.ceil(13 / (this.row + between));
    data.lanes.forEach((lane, n) => {
      if (n % every === 0 || lane.rows * this.row >= 13) this.label(lane.label, this.tops[n] + lane.rows * this.row / 2);
      if (n) shape(this.svg, 'line', { class: 'grid', x1: this.margin.left, x2: this.width - this.margin.right, y1: this.tops[n] - between / 2, y2: this.tops[n] - between / 2 });
    });
    const context = this.canvas();
    const fills = Array.from({ length: COLOURS }, (_, n) => colour('--c' + n));
    const ink = colour('--on-series');
    context.font = '11px ' + getComputedStyle(document.body).fontFamily;
    context.textBaseline = 'middle';
    const [low, high] = this.domain();
    data.start.forEach((start, n) => {
      if (start > high || start + data.length[n] < low) return;
      const [left, width] = [this.x(start), Math.max(0.75, data.length[n] / (high - low) * this.inner)];
      const top = this.tops[data.lane[n]] + data.row[n] * this.row;
      context.fillStyle = fills[this.colours.get(data.kinds[n]) || 0];
      // A hair of space tells neighbours apart.
      context.fillRect(left, top, width > 3 ? width - 0.75 : width, this.row - 1);
      const text = data.texts[data.label[n]];
      const from = Math.max(left, this.margin.left) + 4;
      const room = Math.min(left + width, this.width - this.margin.right) - from - 4;
      if (this.row < 12 || room < 24 || !text) return;
      const shown = shorten(text, room);
      if (shown.length < 5 && shown !== text) return;
      context.fillStyle = ink;
      context.fillText(shown, from, top + this.row / 2);
    });
    this.drawCursor();
  }
  hover(event, x, y) {
    const { data } = this;
    const time = this.time(x);
    const near = (this.domain()[1] - this.domain()[0]) / this.inner * 1.5;
    let [found, distance] = [-1, Infinity];
    for (let n = 0; n < data.start.length; n += 1) {
      const top = this.tops[data.lane[n]] + data.row[n] * this.row;
      if (y < top || y >= top + this.row) continue;
      const away = Math.max(0, data.start[n] - time, time - data.start[n] - data.length[n]);
      if (away <= near && away <= distance) [found, distance] = [n, away];
    }
    if (found < 0) return hideTip();
    const text = (at) => data.texts[at];
    const [start, length] = [data.start[found], data.length[found]];
    const lines = [
      { label: 'begins', value: this.when(start) }, { label: 'takes', value: show(length, 'seconds') },
      { label: 'in', value: data.lanes[data.lane[found]].label },
    ];
    if (text(data.kinds[found])) {
      lines.unshift({ swatch: swatch(this.colours.get(data.kinds[found]) || 0, false), label: text(data.kinds[found]), value: '' });
    }
    showTip(event, element('strong', {}, text(data.label[found]) || '-'), lines, [text(data.detail[found])].filter(Boolean));
  }
}

// --- Scaling ---------------------------------------------------------------------------------------------------------

class Scaling {
  constructor(data) {
    this.data = data;
    this.figure = document.getElementById(data.id);
    this.plot = document.getElementById(data.id + '-plot');
    const list = element('ul', { class: 'legend' });
    data.curves.forEach((curve, n) => list.append(element('li', { class: 'key', title: curve.label }, swatch(n, true), element('span', { class: 'word' }, curve.label))));
    const dashes = element('span', { class: 'swatch', 'aria-hidden': 'true' });
    shape(shape(dashes, 'svg', { width: 14, height: 10 }), 'line', { class: 'mark', x1: 0, x2: 14, y1: 5, y2: 5 });
    if (data.perfect.length) list.append(element('li', { class: 'key' }, dashes, 'perfect'));
    if (data.curves.some((curve) => curve.points.length)) this.plot.before(list);
  }
  draw() {
    const { data } = this;
    const measured = data.curves.flatMap((curve) => curve.points);
    if (!measured.length) return this.plot.replaceChildren(element('p', { class: 'empty' }, 'No data'));
    const perfect = data.perfect.filter(([x, y]) => x !== null && y !== null);
    const xs = [...new Set(measured.map((point) => point.x).concat(perfect.map(([x]) => x)))].sort((a, b) => a - b);
    // Ceilings that are far above would press everything else to the floor.
    let tops = measured.flatMap((point) => [point.y].concat(point.range || [])).concat(perfect.map(([, y]) => y));
    const reach = Math.max(...tops) * 3;
    const ceilings = data.ceilings.filter((ceiling) => ceiling.value <= reach);
    tops = tops.concat(ceilings.map((ceiling) => ceiling.value));
    const logarithmic = xs[xs.length - 1] / xs[0] > 12;
    const [low, high] = [Math.min(...tops), Math.max(...tops)];
    const width = Math.max(200, this.plot.clientWidth);
    const height = clamp(width * 0.42, 240, 360);
    const scale = logarithmic ? this.decades(low, high) : axisTicks(0, high, 5, data.unit);
    const labels = scale.at.map(({ label }) => (scale.symbol ? `${label} ${scale.symbol}` : label));
    const margin = { left: Math.ceil(Math.max(24, ...labels.map(widthOf))) + 12, right: 20, top: 12, bottom: 40 };
    const [inner, plain] = [width - margin.left - margin.right, height - margin.top - margin.bottom];
    const place = (value, from, to) => {
      if (to === from) return 0.5;
      // Differences, since a quotient of two finite numbers may not be finite.
      const log = Math.log;
      return logarithmic ? (log(value) - log(from)) / (log(to) - log(from)) : (value - from) / (to - from);
    };
    const [left, right] = [xs[0], xs[xs.length - 1]];
    const [floor, roof] = logarithmic ? [low / 1.25, high * 1.25] : [0, high * 1.06];
    const x = (value) => margin.left + place(value, logarithmic ? left : Math.min(0, left), right) * inner;
    const y = (value) => margin.top + (1 - place(value, floor, roof)) * plain;
    if (this.svg) this.svg.remove();
    const heading = document.getElementById(data.id + '-title').textContent;
    const svg = this.svg = shape(this.plot, 'svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${heading}. The values are in the table below.` });
    scale.at.forEach(({ value }, n) => {
      if (value < floor || value > roof) return;
      shape(svg, 'line', { class: 'grid', x1: margin.left, x2: width - margin.right, y1: y(value), y2: y(value) });
      shape(svg, 'text', { x: margin.left - 7, y: y(value) + 4, 'text-anchor': 'end' }, labels[n]);
    });
    const base = height - margin.bottom;
    shape(svg, 'line', { class: 'axis', x1: margin.left, x2: width - margin.right, y1: base, y2: base });
    let free = -Infinity;
    for (const value of xs) {
      const text = separated(value, Number.isInteger(value) ? 0 : 1);
      const half = widthOf(text) / 2 + 5;
      shape(svg, 'line', { class: 'axis', x1: x(value), x2: x(value), y1: base, y2: base + 4 });
      if (x(value) - half < free) continue;
      free = x(value) + half;
      shape(svg, 'text', { x: x(value), y: base + 17, 'text-anchor': 'middle' }, text);
    }
    shape(svg, 'text', { x: margin.left + inner / 2, y: base + 34, 'text-anchor': 'middle' }, data.xLabel);
    const path = (points) => points.map(([px, py], n) => `${n ? 'L' : 'M'}${x(px).toFixed(1)},${y(py).toFixed(1)}`).join('');
    shape(svg, 'path', { class: 'mark', d: path(perfect), style: 'fill:none;stroke-width:1.5' });
    for (const ceiling of ceilings) {
      const at = y(ceiling.value);
      shape(svg, 'line', { class: 'mark', x1: margin.left, x2: width - margin.right, y1: at, y2: at, style: 'stroke-dasharray:2 3' });
      shape(svg, 'text', { class: 'halo', x: margin.left + 6, y: at - 5 }, `${ceiling.label} · ${show(ceiling.value, data.unit)}`);
    }
    data.curves.forEach((curve, n) => {
      shape(svg, 'path', { d: path(curve.points.map((point) => [point.x, point.y])), style: lineStyle(n) });
      for (const point of curve.points) {
        const style = `stroke:var(--c${n % COLOURS});stroke-width:1.5`;
        if (point.range) shape(svg, 'line', { x1: x(point.x), x2: x(point.x), y1: y(point.range[0]), y2: y(point.range[1]), style });
        shape(svg, 'circle', { cx: x(point.x), cy: y(point.y), r: 3.5, style: `fill:var(--c${n % COLOURS})` });
        const target = shape(svg, 'circle', { cx: x(point.x), cy: y(point.y), r: 12, style: 'fill:transparent' });
        target.addEventListener('pointermove', (event) => this.hover(event, curve, n, point, perfect));
        target.addEventListener('pointerleave', hideTip);
      }
    });
  }
  // Ticks of a logarithmic axis: 1, 2 and 5 times the powers of ten, fewer if there are many.
  decades(low, high) {
    const [from, to] = [Math.floor(Math.log10(low)) - 1, Math.ceil(Math.log10(high)) + 1];
    const at = [];
    for (let power = from; power <= to; power += Math.ceil((to - from) / 12)) {
      for (const factor of to - from > 5 ? [1] : [1, 2, 5]) at.push(factor * 10 ** power);
    }
    return { symbol: '', at: at.map((value) => ({ value, label: show(Number(value.toPrecision(3)), this.data.unit) })) };
  }
  hover(event, curve, n, point, perfect) {
    const { unit, xLabel } = this.data;
    const ideal = perfect.find(([x]) => x === point.x);
    const lines = [{ swatch: swatch(n, true), label: curve.label || 'measured', value: show(point.y, unit) }];
    if (point.range) lines.push({ label: 'of repeated runs', value: `${show(point.range[0], unit)} to ${show(point.range[1], unit)}` });
    if (ideal) lines.push({ label: 'perfect', value: show(ideal[1], unit) }, { label: 'reached', value: show(point.y / ideal[1], 'share') });
    showTip(event, `${separated(point.x, Number.isInteger(point.x) ? 0 : 1)} ${xLabel}`, lines);
  }
}
