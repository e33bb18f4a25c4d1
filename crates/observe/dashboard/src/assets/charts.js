// Charts on canvases: lines and heat maps over time. The time at the right is now.


const LEFT = 62;
const BOTTOM = 18;
const TOP = 6;

// Round values on an axis, at most so many.
function ticks(most, number, isBinary = false) {
  if (!(most > 0) || !Number.isFinite(most)) return [0];
  const size = 10 ** Math.floor(Math.log10(most / number));
  const decimal = [1, 2, 5, 10].map((by) => by * size).find((by) => most / by <= number);
  const step = isBinary ? 2 ** Math.ceil(Math.log2(most / number)) : decimal;
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, at) => at * step);
}

const ago = (time) => (time < 1 ? "now" : time < 90 ? Math.round(time) + " s ago" : Math.round(time / 60) + " min ago");

// A frame with a title, a canvas and what the pointer is at.
class Chart {
  constructor({ title, note, height = 170, half = false, legend = [] }) {
    this.canvas = el("canvas", { role: "img", tabindex: "0", "aria-label": title });
    this.canvas.style.height = height + "px";
    this.readout = el("span", { class: "readout" });
    this.title = title;
    this.height = height;
    this.pointer = null;
    const keys = legend.map(([name, key]) => {
      const swatch = el("span", { class: "swatch", "data-colour": key });
      return el("li", {}, swatch, name);
    });
    this.swatches = keys.map((key) => key.firstChild);
    this.element = el("figure", { class: "card" + (half ? " half" : "") },
      el("figcaption", {}, el("div", { class: "head" }, el("h2", { text: title }), this.readout), note ? el("p", { class: "note", text: note }) : null),
      keys.length ? el("ul", { class: "legend" }, ...keys) : null,
      this.canvas);
    const move = (event) => { this.pointer = (event.clientX - this.canvas.getBoundingClientRect().left); this.paint(); };
    const leave = () => { this.pointer = null; this.paint(); };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerleave", leave);
    this.canvas.addEventListener("blur", leave);
    this.canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.pointer = Math.min(Math.max((this.pointer ?? this.width) + by * 8, LEFT), this.width - 1);
      this.paint();
    });
  }

  // Draws if it is seen; says whether.
  begin() {
    const width = this.canvas.clientWidth;
    if (width < LEFT + 20) return false;
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(this.height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(this.height * scale);
    }
    this.width = width;
    this.pen = this.canvas.getContext("2d");
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.pen.clearRect(0, 0, width, this.height);
    this.pen.font = "11.5px system-ui, sans-serif";
    this.swatches.forEach((swatch) => { swatch.style.background = colour(swatch.dataset.colour); });
    return true;
  }

  get plot() { return { left: LEFT, right: this.width - 8, top: TOP, bottom: this.height - BOTTOM }; }

  label(text, x, y, align) {
    this.pen.fillStyle = colour("soft");
    this.pen.textAlign = align;
    this.pen.textBaseline = "middle";
    this.pen.fillText(text, x, y);
  }

  times(begin, end) {
    const { left, right, bottom } = this.plot;
    const number = Math.max(1, Math.min(5, Math.floor((right - left) / 110)));
    for (const back of ticks(end - begin, number)) {
      const x = right - (back / (end - begin || 1)) * (right - left);
      this.label(ago(back), Math.min(x, right - 14), bottom + 11, x < left + 30 ? "left" : "center");
    }
  }

  say(text) { say(this.readout, text); }

  paint() { if (this.data && this.begin()) this.draw(this.data); }

  update(data) {
    this.data = data;
    this.paint();
  }
}

class Lines extends Chart {
  // data: { begin, end, series: [{ name, colour, points: [[time, value]] }], least }
  constructor(options) {
    super({ ...options, legend: options.series?.length > 1 ? options.series : [] });
    this.show = options.show;
    this.isBinary = options.isBinary ?? false;
  }

  draw({ begin, end, series, least = 0 }) {
    const { left, right, top, bottom } = this.plot;
    const values = series.flatMap((one) => one.points.map((point) => point[1])).filter(Number.isFinite);
    const most = Math.max(least, ...values.length ? [values.reduce((a, b) => Math.max(a, b))] : [0]) * 1.08 || 1;
    const x = (time) => left + ((time - begin) / (end - begin || 1)) * (right - left);
    const y = (value) => bottom - (value / most) * (bottom - top);
    this.pen.strokeStyle = colour("grid");
    this.pen.lineWidth = 1;
    for (const tick of ticks(most, 4, this.isBinary)) {
      this.pen.beginPath();
      this.pen.moveTo(left, Math.round(y(tick)) + 0.5);
      this.pen.lineTo(right, Math.round(y(tick)) + 0.5);
      this.pen.stroke();
      this.label(this.show(tick), left - 6, y(tick), "right");
    }
    this.times(begin, end);
    series.forEach((one, at) => this.line(one, x, y, bottom, at === 0 && series.length === 1));
    const last = series.map((one) => one.points.at(-1)).filter(Boolean);
    const time = this.pointer === null ? null : begin + ((this.pointer - left) / (right - left)) * (end - begin);
    const nearest = (points) => points.reduce((best, point) => (Math.abs(point[0] - time) < Math.abs(best[0] - time) ? point : best), points[0]);
    const at = time === null ? last : series.filter((one) => one.points.length).map((one) => nearest(one.points));
    const names = series.filter((one) => one.points.length).map((one) => one.name);
    const texts = at.map((point, n) => (names.length > 1 ? names[n] + " " : "") + this.show(point[1]));
    this.say(texts.join(", ") + (time === null || !at.length ? "" : ", " + ago(end - at[0][0])));
    this.canvas.setAttribute("aria-label", this.title + ": " + texts.join(", "));
    if (time !== null && at.length) {
      this.pen.strokeStyle = colour("faint");
      this.pen.beginPath();
      this.pen.moveTo(Math.round(x(at[0][0])) + 0.5, top);
      this.pen.lineTo(Math.round(x(at[0][0])) + 0.5, bottom);
      this.pen.stroke();
    }
  }

  line({ points, colour: name }, x, y, bottom, isFilled) {
    const known = points.filter((point) => Number.isFinite(point[1]));
    if (!known.length) return;
    const trace = () => known.forEach(([time, value], at) => this.pen[at ? "lineTo" : "moveTo"](x(time), y(value)));
    if (isFilled) {
      this.pen.beginPath();
      trace();
      this.pen.lineTo(x(known.at(-1)[0]), bottom);
      this.pen.lineTo(x(known[0][0]), bottom);
      this.pen.globalAlpha = 0.14;
      this.pen.fillStyle = colour(name);
      this.pen.fill();
      this.pen.globalAlpha = 1;
    }
    this.pen.beginPath();
    trace();
    this.pen.strokeStyle = colour(name);
    this.pen.lineWidth = 1.75;
    this.pen.lineJoin = "round";
    this.pen.stroke();
  }
}

class Heat extends Chart {
  // data: { begin, end, rows: [label], columns: [[from, to, [share of each row]]], say(row, column) }; rows from below
  // if `upwards`.
  constructor(options) {
    super(options);
    this.upwards = options.upwards ?? false;
    this.rowHeight = options.rowHeight ?? null;
    const ramp = el("ul", { class: "legend" }, el("li", {}, options.low ?? "0", el("span", { class: "ramp" }), options.high ?? "most"));
    this.element.insertBefore(ramp, this.canvas);
    this.across = null;
    this.canvas.addEventListener("pointermove", (event) => { this.across = event.clientY - this.canvas.getBoundingClientRect().top; });
  }

  draw({ begin, end, rows, columns, say: tell, lines = [] }) {
    if (this.rowHeight) {
      const wanted = Math.min(Math.max(rows.length * this.rowHeight, 24), 520) + BOTTOM + TOP;
      if (wanted !== this.height) {
        this.height = wanted;
        this.canvas.style.height = wanted + "px";
        if (!this.begin()) return;
      }
    }
    const { left, right, top, bottom } = this.plot;
    const x = (time) => left + ((time - begin) / (end - begin || 1)) * (right - left);
    const size = (bottom - top) / Math.max(rows.length, 1);
    const y = (row) => (this.upwards ? bottom - (row + 1) * size : top + row * size);
    this.pen.fillStyle = colour("h0");
    this.pen.fillRect(left, top, right - left, bottom - top);
    for (const [from, to, shares] of columns) {
      const [a, b] = [Math.floor(x(from)), Math.ceil(x(to))];
      shares.forEach((share, row) => {
        if (!(share > 0)) return;
        this.pen.fillStyle = heat(share);
        this.pen.fillRect(a, y(row), b - a, size + 0.5);
      });
    }
    const each = Math.max(1, Math.ceil(14 / size));
    rows.forEach((row, at) => { if (at % each === 0) this.label(row, left - 6, y(at) + size / 2, "right"); });
    for (const { points, colour: name, dash } of lines) {
      this.pen.beginPath();
      points.forEach(([time, row], at) => this.pen[at ? "lineTo" : "moveTo"](x(time), (this.upwards ? bottom - row * size : top + row * size)));
      this.pen.setLineDash(dash ?? []);
      this.pen.strokeStyle = colour(name);
      this.pen.lineWidth = 1.5;
      this.pen.stroke();
      this.pen.setLineDash([]);
    }
    this.times(begin, end);
    let text = "";
    if (this.pointer !== null && columns.length && rows.length) {
      const time = begin + ((this.pointer - left) / (right - left)) * (end - begin);
      const column = columns.findIndex(([from, to]) => time >= from && time < to);
      const down = ((this.across ?? top) - top) / size;
      const row = Math.floor(this.upwards ? rows.length - down : down);
      if (column >= 0 && row >= 0 && row < rows.length) text = tell(row, column) + ", " + ago(end - columns[column][1]);
    }
    this.say(text);
  }
}

// The time that charts show: as many seconds as are kept, but not less than 30.
function span(samples) {
  const end = samples.at(-1)?.at ?? 0;
  return { begin: Math.min(samples[0]?.at ?? 0, end - 30), end };
}
