// What all parts of the page use. Texts of the program come into the page as text only, never as markup.

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  set(made, attributes);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "text") made.textContent = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
}

// Sets a text only if it is another: what is read aloud, or selected, stays.
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

function count(value) {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) < 10_000) return Number.isInteger(value) ? String(value) : digits(value);
  const [size, prefix] = PREFIXES.find(([size]) => Math.abs(value) >= size);
  return digits(value / size) + " " + prefix;
}

const rate = (value) => (Number.isFinite(value) ? count(value >= 100 ? Math.round(value) : value) + "/s" : "–");

function seconds(value) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0 s";
  for (const [size, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
    if (Math.abs(value) >= size) return digits(value / size) + " " + unit;
  }
  return digits(value * 1e9) + " ns";
}

function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  for (const [size, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (value >= size) return digits(value / size) + " " + unit;
  }
  return value + " B";
}

const percent = (value) => (Number.isFinite(value) ? digits(value * 100) + " %" : "–");

function duration(value) {
  if (value < 60) return Math.floor(value) + " s";
  const parts = [[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([size]) => value >= size);
  const shown = parts.slice(first, first + 2).map(([size, unit], at) => {
    const rest = at === 0 ? value : value % parts[first][0];
    return Math.floor(rest / size) + " " + unit;
  });
  return shown.join(" ");
}

// A type's name without the paths in it.
const short = (kind) => kind.replace(/(?:[A-Za-z_0-9{}#]+::)+/g, "");

const sum = (values) => values.reduce((all, value) => all + value, 0);

async function ask(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  const response = await fetch(path + "?" + query, { cache: "no-store" });
  const said = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(said.error || "status " + response.status);
  return said;
}

// ---- colours

let known = {};

function colour(name) {
  known[name] ??= getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  return known[name];
}

const parsed = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

// The colour of a share between 0 and 1.
function heat(share) {
  const at = Math.min(Math.max(share, 0), 1) * 4;
  const low = Math.min(Math.floor(at), 3);
  const [from, to] = [parsed(colour("h" + low)), parsed(colour("h" + (low + 1)))];
  return "rgb(" + from.map((value, part) => Math.round(value + (to[part] - value) * (at - low))).join(" ") + ")";
}

// The colour of a text on such a colour.
function onHeat(share) {
  const [r, g, b] = heat(share).match(/\d+/g).map(Number);
  return r * 0.3 + g * 0.59 + b * 0.11 > 140 ? "#10151b" : "#ffffff";
}

const isDark = () => {
  const said = document.documentElement.dataset.theme;
  return said ? said === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

// The button that changes the colours; `changed` is called when they are others.
function theme(button, changed) {
  const update = () => {
    known = {};
    say(button, isDark() ? "Light" : "Dark");
    changed();
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    update();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
  update();
}

// ---- tables

// A table whose rows are kept from one look to the next. A column: { name, of(row), show(value), number, wide, bar }.
class Table {
  constructor({ caption, columns, key, sort, descending = true, pick, most = 200 }) {
    Object.assign(this, { columns, key, sort, descending, pick, most, rows: new Map(), shown: [] });
    this.body = el("tbody");
    this.heads = columns.map((column, at) => {
      const button = el("button", { type: "button", text: column.name, onclick: () => this.order(at) });
      return el("th", { scope: "col", class: column.number ? "number" : null }, sort === undefined ? column.name : button);
    });
    this.empty = el("p", { class: "empty", text: "nothing yet" });
    const head = el("thead", {}, el("tr", {}, ...this.heads));
    const table = el("table", { "aria-label": caption ?? null }, head, this.body);
    // Outside what scrolls: it is not as wide as the table.
    const above = caption ? el("p", { class: "note above", text: caption }) : null;
    this.element = el("div", {}, above, el("div", { class: "scroll" }, table), this.empty);
    this.mark();
  }

  order(at) {
    this.descending = this.sort === at ? !this.descending : Boolean(this.columns[at].number);
    this.sort = at;
    this.mark();
    this.show(this.shown);
  }

  mark() {
    this.heads.forEach((head, at) => {
      if (at === this.sort) head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  show(rows) {
    this.shown = rows;
    let sorted = rows;
    if (this.sort !== undefined) {
      const { of } = this.columns[this.sort];
      const sign = this.descending ? -1 : 1;
      const compare = (a, b) => (typeof a === "string" || typeof b === "string" ? String(a ?? "").localeCompare(String(b ?? "")) : (a ?? -1) - (b ?? -1));
      sorted = [...rows].sort((a, b) => sign * compare(of(a), of(b)));
    }
    sorted = sorted.slice(0, this.most);
    const kept = new Map();
    const order = sorted.map((row) => {
      const key = this.key(row);
      const line = this.rows.get(key) ?? this.line();
      line.row = row;
      this.columns.forEach((column, at) => this.cell(line.cells[at], column, row));
      kept.set(key, line);
      return line.element;
    });
    this.rows = kept;
    const is = this.body.children;
    // Rows that stay where they are keep the focus.
    order.forEach((element, at) => { if (is[at] !== element) this.body.insertBefore(element, is[at] ?? null); });
    while (is.length > order.length) is[is.length - 1].remove();
    this.empty.hidden = order.length > 0;
  }

  line() {
    const cells = this.columns.map((column) => el("td", { class: column.number ? "number" : column.wide ? "wide" : null }));
    const line = { cells, row: null };
    const pick = this.pick && (() => this.pick(line.row));
    const keyed = (event) => {
      if (event.key !== "Enter") return;
      // Else the key would also press what has the focus by then.
      event.preventDefault();
      pick();
    };
    line.element = el("tr", pick ? { tabindex: "0", onclick: pick, onkeydown: keyed } : {}, ...cells);
    return line;
  }

  cell(cell, column, row) {
    const value = column.of(row);
    const text = value === null || value === undefined ? "–" : column.show ? column.show(value) : String(value);
    if (column.bar) {
      if (!cell.firstChild) cell.append(el("span", { class: "bar", "aria-hidden": "true" }, el("i")), el("span"));
      cell.firstChild.firstChild.style.width = Math.min(Math.max(column.bar(row) || 0, 0), 1) * 100 + "%";
      say(cell.lastChild, text);
    } else say(cell, text);
    if (column.title) cell.title = column.title(row);
  }
}
