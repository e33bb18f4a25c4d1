// The machine: packages, NUMA nodes, cores and PUs, who is at home where, and what passes between workers.


const PU = 46;
const GAP = 12;
const PAD = 12;
const HEAD = 28;
// The pairs of workers that are drawn and listed.
const PAIRS = 40;

// What is grouped by a key, in the order in which it came.
function groups(list, key) {
  const found = new Map();
  for (const one of list) {
    const at = key(one);
    if (!found.has(at)) found.set(at, []);
    found.get(at).push(one);
  }
  return [...found];
}

class Machine {
  constructor() {
    this.holder = el("div", { class: "machine scroll" });
    this.note = el("p", { class: "note" });
    const legend = el("ul", { class: "legend" },
      el("li", {}, "idle", el("span", { class: "ramp" }), "all of the time in this program"),
      el("li", {}, this.key("c1"), "steals"), el("li", {}, this.key("c2"), "messages by lanes"));
    this.pairs = new Table({
      caption: "What workers get from each other, over the last seconds",
      columns: [
        { name: "from worker", of: (it) => it.from, number: true },
        { name: "to worker", of: (it) => it.to, number: true },
        { name: "actors stolen", of: (it) => it.stolen, show: rate, number: true },
        { name: "chunks of messages", of: (it) => it.chunks, show: rate, number: true },
      ],
      key: (it) => it.from + " " + it.to, sort: 3, most: PAIRS,
    });
    this.element = el("div", { class: "pane" },
      el("section", { class: "card" }, el("h2", { text: "Packages, NUMA nodes, cores and PUs" }), this.note, legend, this.holder),
      el("section", { class: "card" }, this.pairs.element));
    this.drawn = null;
  }

  key(name) {
    const swatch = el("span", { class: "swatch", "data-colour": name });
    (this.swatches ??= []).push(swatch);
    return swatch;
  }

  // Draws the machine as it is; what changes is coloured later.
  build(about) {
    this.drawn = about.life;
    this.pus = new Map();
    this.seats = [];
    const known = about.pus.length ? about.pus : about.workers.filter((pu) => pu !== null).map((pu) => ({ pu, core: pu, numa_node: null, package: 0, is_allowed: true }));
    const loose = about.workers.map((pu, worker) => [pu, worker]).filter(([pu]) => pu === null || !known.some((it) => it.pu === pu));
    const root = svg("svg", { role: "img", "aria-label": "The machine" });
    this.arcs = svg("g");
    root.append(svg("defs", {}, ...["chunks", "stolen"].map((what) =>
      svg("marker", { id: "to-" + what, class: what, viewBox: "0 0 6 6", refX: 4, refY: 3, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" },
        svg("path", { d: "M0 0 L6 3 L0 6 z" })))));
    const wide = Math.max(320, Math.min(this.holder.clientWidth || 900, 1200));
    let [down, across] = [0, 0];
    for (const [number, pus] of groups(known, (it) => it.package)) {
      const box = this.package(number, pus, wide);
      box.element.setAttribute("transform", "translate(0 " + down + ")");
      for (const [pu, seat] of box.seats) this.pus.set(pu, { ...seat, y: seat.y + down });
      root.append(box.element);
      down += box.height + GAP;
      across = Math.max(across, box.width);
    }
    about.workers.forEach((pu, worker) => { if (pu !== null && this.pus.has(pu)) this.seat(worker, this.pus.get(pu)); });
    if (loose.length) {
      const box = this.unbound(loose.map(([, worker]) => worker), wide, down);
      root.append(box.element);
      down += box.height + GAP;
      across = Math.max(across, box.width);
    }
    root.append(this.arcs);
    root.setAttribute("viewBox", "0 0 " + (across + 2) + " " + down);
    // A small machine is drawn larger.
    root.style.maxWidth = (across + 2) * Math.min(Math.max(wide / across, 1), 1.4) + "px";
    root.style.minWidth = Math.min(across, 300) + "px";
    this.holder.replaceChildren(root);
    const unbound = loose.length ? " Workers that are bound to no PU stand apart: they run wherever the process may." : "";
    say(this.note, "A PU has the number of the operating system below, and above it that of the worker that is bound to it. Its colour is the share of its time that this process ran there." + unbound);
  }

  package(number, pus, wide) {
    const element = svg("g");
    const seats = new Map();
    let [y, width] = [HEAD, 0];
    for (const [node, of_node] of groups(pus, (it) => it.numa_node)) {
      const cores = groups(of_node, (it) => it.core);
      const in_core = Math.max(...cores.map(([, its]) => its.length));
      const core_width = in_core * PU + 8;
      const per_row = Math.max(1, Math.min(cores.length, Math.floor((wide - 4 * PAD) / (core_width + GAP))));
      const top = y;
      cores.forEach(([core, its], at) => {
        const [cx, cy] = [2 * PAD + (at % per_row) * (core_width + GAP), top + HEAD + Math.floor(at / per_row) * (PU + 8 + 2 * GAP)];
        const box = svg("rect", { class: "core", x: cx, y: cy, width: core_width, height: PU + 8, rx: 5 });
        box.append(svg("title", { text: "core " + core }));
        element.append(box);
        its.forEach((it, part) => seats.set(it.pu, this.pu(element, it, cx + 4 + part * PU, cy + 4)));
      });
      const rows = Math.ceil(cores.length / per_row);
      const height = HEAD + rows * (PU + 8 + 2 * GAP);
      const node_width = 2 * PAD + per_row * (core_width + GAP) - GAP;
      element.append(svg("rect", { class: "box", x: PAD, y: top, width: node_width, height, rx: 7 }));
      element.append(svg("text", { x: PAD + 8, y: top + 14, text: node === null ? "no NUMA node" : "NUMA node " + node }));
      y += height + GAP;
      width = Math.max(width, node_width + 2 * PAD);
    }
    element.append(svg("rect", { class: "box", x: 1, y: 1, width, height: y, rx: 9 }));
    element.append(svg("text", { x: 10, y: 15, text: "package " + number }));
    return { element, seats, width, height: y + 2 };
  }

  pu(parent, it, x, y) {
    const box = svg("rect", { class: "pu" + (it.is_allowed ? "" : " barred"), x: x + 1, y: y + 1, width: PU - 4, height: PU - 4, rx: 4 });
    const title = svg("title");
    const name = svg("text", { class: "name", x: x + PU / 2 - 1, y: y + 20 });
    const number = svg("text", { class: "number", x: x + PU / 2 - 1, y: y + 36, text: "PU " + it.pu });
    box.append(title);
    parent.append(box, name, number);
    return { box, title, name, number, x: x + PU / 2 - 1, y: y + PU / 2, pu: it.pu };
  }

  unbound(workers, wide, down) {
    const element = svg("g");
    const per_row = Math.max(1, Math.min(workers.length, Math.floor((wide - 2 * PAD) / (PU + GAP))));
    workers.forEach((worker, at) => {
      const [x, y] = [PAD + (at % per_row) * (PU + GAP), down + HEAD + Math.floor(at / per_row) * (PU + GAP)];
      const seat = this.pu(element, { pu: "", is_allowed: true }, x, y);
      seat.number.textContent = "";
      seat.isLoose = true;
      this.seat(worker, seat);
    });
    const height = HEAD + Math.ceil(workers.length / per_row) * (PU + GAP) + 4;
    const width = Math.max(2 * PAD + per_row * (PU + GAP) - GAP, 190);
    element.append(svg("rect", { class: "box", x: 1, y: down + 1, width, height, rx: 9 }));
    element.append(svg("text", { x: 10, y: down + 15, text: "workers that are not bound" }));
    return { element, width, height: height + 2 };
  }

  seat(worker, seat) {
    this.seats[worker] = seat;
    (seat.workers ??= []).push(worker);
    seat.name.textContent = "w" + seat.workers.join(" w");
    seat.box.classList.add("home");
  }

  show(about, history) {
    if (!about || !history.latest) return;
    if (this.drawn !== about.life) this.build(about);
    this.swatches.forEach((swatch) => { swatch.style.background = colour(swatch.dataset.colour); });
    const { latest, earlier } = history;
    const passed = latest.process.at_s - (earlier?.process.at_s ?? 0);
    const load = (pu) => (passed > 0 && earlier ? ((latest.process.cpus[pu] ?? 0) - (earlier.process.cpus[pu] ?? 0)) * 1e-9 / passed : 0);
    const busiest = Math.max(1, ...about.workers.map((_, worker) => this.handled(history, worker)));
    for (const seat of this.pus.values()) this.paint(seat, load(seat.pu), "ran this process " + percent(Math.min(load(seat.pu), 1)) + " of its time");
    this.seats.filter((seat) => seat?.isLoose).forEach((seat) => {
      const handled = this.handled(history, seat.workers[0]);
      this.paint(seat, handled / busiest, rate(handled) + " messages");
    });
    this.exchanges(history);
  }

  handled(history, worker) {
    return history.rise((now) => now.workers[worker]?.counters.handled ?? 0) || 0;
  }

  paint(seat, share, text) {
    seat.box.style.fill = heat(share);
    const ink = onHeat(share);
    seat.name.style.fill = ink;
    seat.number.style.fill = ink;
    const who = seat.workers ? "worker " + seat.workers.join(", ") + (seat.isLoose ? ": " : " on PU " + seat.pu + ": ") : "PU " + seat.pu + ": ";
    say(seat.title, who + text);
  }

  exchanges({ latest, earlier, span }) {
    const before = new Map((earlier?.exchanges ?? []).map((it) => [it.from + " " + it.to, it]));
    const rates = latest.exchanges.map(({ from, to, stolen, chunks }) => {
      const was = before.get(from + " " + to) ?? { stolen: 0, chunks: 0 };
      const per = (now, then) => (span > 0 ? (now - then) / span : 0);
      return { from, to, stolen: per(stolen, was.stolen), chunks: per(chunks, was.chunks) };
    });
    this.pairs.show(rates);
    const arcs = [];
    for (const what of ["chunks", "stolen"]) {
      const top = rates.filter((it) => it[what] > 0).sort((a, b) => b[what] - a[what]).slice(0, PAIRS);
      arcs.push(...top.map((it) => this.arc(it, what, it[what] / top[0][what])).filter(Boolean));
    }
    this.arcs.replaceChildren(...arcs);
  }

  // Messages go above the PUs, and what is stolen below; there and back have arcs of their own.
  arc(it, what, share) {
    const [a, b] = [this.seats[it.from], this.seats[it.to]];
    if (!a || !b || a === b) return null;
    const up = what === "chunks" ? -1 : 1;
    const edge = (PU / 2 - 4) * up;
    const aside = it.from < it.to ? 4 : -4;
    const bend = up * (12 + Math.hypot(b.x - a.x, b.y - a.y) * 0.1 + (it.from < it.to ? 14 : 0));
    const [from, to] = [[a.x + aside, a.y + edge], [b.x - aside, b.y + edge]];
    const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2 + bend];
    const arc = svg("path", { class: "arc " + what, d: "M" + from.join(" ") + " Q" + middle.join(" ") + " " + to.join(" "), "marker-end": "url(#to-" + what + ")" });
    if (what === "stolen") arc.setAttribute("stroke-dasharray", "5 3");
    arc.style.strokeWidth = 1 + 2.5 * Math.sqrt(share) + "px";
    const text = what === "stolen" ? " actors stolen" : " chunks of messages";
    arc.append(svg("title", { text: "worker " + it.from + " to worker " + it.to + ": " + rate(it[what]) + text }));
    return arc;
  }
}
