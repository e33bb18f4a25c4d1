// What all charts need: elements, numbers, ticks, what floats over them. The files of this folder are one function, in the order base,
// axes, charts, page. No library, no network: the data stand in the page, as JSON made by the charts' `render`.
// Text is only ever set as text, never as HTML.
const root = document.documentElement;
const NS = 'http://www.w3.org/2000/svg';
const COLOURS = 8;
const DASHES = ['', '7 3', '2 3', '9 3 2 3'];

// --- Small things ------------------------------------------------------------------------------------------

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const shape = (parent, name, attributes, text) => {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
};
const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const ruler = document.createElement('canvas').getContext('2d');
const widthOf = (text) => {
  ruler.font = '11.5px ' + getComputedStyle(document.body).fontFamily;
  return ruler.measureText(text).width;
};
const shorten = (text, width) => {
  if (widthOf(text) <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (widthOf(text.slice(0, middle) + '…') <= width) low = middle; else high = middle - 1;
  }
  return text.slice(0, low) + '…';
};

// --- Numbers -----------------------------------------------------------------------------------------------

const PREFIXES = {
  seconds: [[1e-9, 'ns'], [1e-6, 'µs'], [1e-3, 'ms'], [1, 's'], [60, 'min'], [3600, 'h'], [86400, 'd']],
  per_second: [[1, '/s'], [1e3, 'k/s'], [1e6, 'M/s'], [1e9, 'G/s'], [1e12, 'T/s']],
  bytes: [[1, 'B'], [1024, 'KiB'], [1024 ** 2, 'MiB'], [1024 ** 3, 'GiB'], [1024 ** 4, 'TiB']],
  share: [[0.01, '%']],
  count: [[1, ''], [1e3, 'k'], [1e6, 'M'], [1e9, 'G']],
};
// How values up to this size are shown: divided by what, with which symbol behind.
const scaleOf = (unit, size) => {
  if (typeof unit === 'object') return { by: 1, symbol: unit.other };
  const all = PREFIXES[unit] || [[1, '']];
  let at = 0;
  // A count keeps its plain form as long as that is short; minutes are for what is long.
  const least = (by) => (unit === 'count' ? 1e5 * by / 1e3 : by === 60 ? 120 : by);
  while (at + 1 < all.length && size >= least(all[at + 1][0]) * (1 - 1e-9)) at += 1;
  return { by: all[at][0], symbol: all[at][1] };
};
const separated = (value, digits) =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const show = (value, unit) => {
  if (value === null || value === undefined || !Number.isFinite(value)) return '-';
  if (value === 0) return typeof unit === 'object' || unit === 'count' ? '0' : '0 ' + scaleOf(unit, 0).symbol;
  const { by, symbol } = scaleOf(unit, Math.abs(value));
  const shown = value / by;
  const size = Math.abs(shown);
  const digits = Number.isInteger(shown) && unit !== 'share' ? 0
    : size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 || size === 0 ? 2
    : clamp(2 + Math.ceil(-Math.log10(size)), 2, 9);
  return separated(shown, digits) + (symbol ? ' ' + symbol : '');
};
// Round values from low to high, about `wanted` of them: one, two or five times a power of ten.
const ticks = (low, high, wanted, whole) => {
  if (!(high > low) || !Number.isFinite(high - low)) return [low];
  const raw = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = raw / power;
  let step = (factor < 1.5 ? 1 : factor < 3.5 ? 2 : factor < 7.5 ? 5 : 10) * power;
  if (whole) step = Math.max(1, step);
  const made = [];
  for (let n = Math.ceil(low / step - 1e-6); n * step <= high + step * 1e-6 && made.length < 100; n += 1) {
    // Not minus zero, which would be shown as such.
    made.push(n * step + 0);
  }
  return made;
};
// The same for an axis in a unit: each with its label; only the last has the symbol if that is short of room.
const axisTicks = (low, high, wanted, unit) => {
  const { by, symbol } = scaleOf(unit, Math.max(Math.abs(low), Math.abs(high)));
  const at = ticks(low / by, high / by, wanted, unit === 'count' && by === 1);
  const step = at.length > 1 ? at[1] - at[0] : Math.abs(at[0]) || 1;
  const digits = clamp(-Math.floor(Math.log10(step) + 1e-6), 0, 12);
  return { symbol, at: at.map((value) => ({ value: value * by, label: separated(value, digits) })) };
};

// --- What floats over all charts -----------------------------------------------------------------------------

const tip = element('div', { class: 'tip', hidden: '', 'aria-hidden': 'true' });
document.body.append(tip);
const swatch = (index, dashed) => {
  const box = element('span', { class: 'swatch', 'aria-hidden': 'true' });
  if (dashed) {
    const drawing = shape(box, 'svg', { width: 14, height: 10 });
    shape(drawing, 'line', { x1: 0, x2: 14, y1: 5, y2: 5, style: lineStyle(index) });
  } else box.style.background = `var(--c${index % COLOURS})`;
  return box;
};
const lineStyle = (index) =>
  `fill:none;stroke:var(--c${index % COLOURS});stroke-width:1.75;stroke-linejoin:round;` +
  `stroke-dasharray:${DASHES[Math.floor(index / COLOURS) % DASHES.length]}`;
const showTip = (event, head, lines, foot) => {
  tip.replaceChildren(element('div', { class: 'head' }, head));
  for (const line of lines) {
    tip.append(element('div', { class: 'line' }, line.swatch || element('span'),
      element('span', { class: 'word' }, line.label), element('span', {}, line.value)));
  }
  for (const text of foot || []) tip.append(element('div', {}, text));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const right = event.clientX + 16 + box.width < window.innerWidth;
  tip.style.left = Math.max(4, right ? event.clientX + 16 : event.clientX - 16 - box.width) + 'px';
  tip.style.top = clamp(event.clientY + 12, 4, Math.max(4, window.innerHeight - box.height - 8)) + 'px';
};
const hideTip = () => { tip.hidden = true; };
