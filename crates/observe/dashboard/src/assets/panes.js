// The panes that show figures of each look.


// Names and values, large.
class Figures {
  constructor(names) {
    this.values = new Map();
    this.element = el("dl", { class: "figures" }, ...names.map((name) => {
      const [value, note] = [el("dd"), el("small")];
      this.values.set(name, [value, note]);
      return el("div", {}, el("dt", { text: name }), value, note);
    }));
  }

  set(name, text, note = "") {
    const [value, small] = this.values.get(name);
    if (!value.firstChild) value.append(el("span"), small);
    say(value.firstChild, text);
    say(small, note);
  }
}

const latencyOf = ({ earlier, latest }) => between(earlier?.latencies ?? [], latest.latencies);

class Throughput {
  constructor() {
    this.figures = new Figures(["Messages", "Latency, median", "Actors", "Messages wait", "Dead letters", "Restarts", "CPUs busy", "Memory"]);
    this.handled = new Lines({ title: "Messages handled", show: rate, series: [["handled", "c0"]], half: true });
    this.waiting = new Lines({ title: "Messages that wait", show: count, series: [["wait", "c1"]], half: true });
    this.map = new Heat({ title: "Messages of each worker", note: "The share that each had of the busiest one's rate in the time shown.", low: "none", rowHeight: 18 });
    this.levels = new Table({
      caption: "Throughput at four levels. A period is 1 / throughput, and no latency.",
      columns: [
        { name: "level", of: (it) => it.level }, { name: "number", of: (it) => it.number, show: count, number: true },
        { name: "messages of each", of: (it) => it.rate, show: rate, number: true },
        { name: "from one to the next", of: (it) => 1 / it.rate, show: seconds, number: true },
      ],
      key: (it) => it.level,
    });
    const per = (name, counter, more = {}) => ({ name, of: (it) => it.rates[counter], show: rate, number: true, ...more });
    this.workers = new Table({
      caption: "Workers, over the last seconds",
      columns: [
        { name: "worker", of: (it) => it.worker, number: true },
        { name: "PU", of: (it) => it.pu, number: true },
        per("messages", "handled", { bar: (it) => it.rates.handled / it.most }),
        per("turns", "turns"), per("by lanes", "crossed"), per("by shared queues", "shared"), per("actors stolen", "stolen"),
        per("moved here", "rehomed"), per("sleeps", "parked"),
        { name: "in a turn of", of: (it) => it.turn, show: (it) => it },
      ],
      key: (it) => it.worker, sort: 0, descending: false, most: 512,
    });
    this.scaling = new Table({
      caption: "Changes of the number of workers with work",
      columns: [
        { name: "time", of: (it) => it.at_s, show: (at) => at.toFixed(2) + " s", number: true },
        { name: "from", of: (it) => it.from, number: true }, { name: "to", of: (it) => it.to, number: true },
        { name: "reason", of: (it) => it.reason, wide: true },
      ],
      key: (it) => it.at_s + " " + it.to, most: 20,
    });
    this.scaled = el("section", { class: "card" }, this.scaling.element);
    this.element = el("div", { class: "pane" }, this.figures.element, this.handled.element, this.waiting.element,
      this.map.element, el("section", { class: "card" }, this.levels.element), el("section", { class: "card" }, this.workers.element), this.scaled);
  }

  show(about, history, { range, nodes }) {
    const { latest } = history;
    if (!latest || !about) return;
    const samples = history.samples(range);
    const handled = history.rise((now) => counter(now, "handled"));
    this.tell(history, handled);
    const { begin, end } = span(samples);
    const line = (name, key, points) => ({ begin, end, series: [{ name, colour: key, points }] });
    this.handled.update(line("handled", "c0", steps(samples, (from, to, passed) => (to.all - from.all) / passed)));
    this.waiting.update({ ...line("wait", "c1", samples.map((one) => [one.at, one.waiting])), least: 4 });
    this.drawMap(about, samples, begin, end);
    const workers = latest.workers.length;
    const all = sum(nodes.map((node) => node.rate).filter(Number.isFinite));
    const levels = [["all", nodes.length, nodes.length > 1 ? all : handled], ["node", 1, handled], ["worker", workers, handled / workers], ["actor", latest.actors, handled / (latest.actors || 1)]];
    this.levels.show(levels.map(([level, number, its]) => ({ level, number, rate: its })));
    this.list(about, history);
    this.scaled.hidden = !latest.scaling.length;
    this.scaling.show([...latest.scaling].reverse());
  }

  tell(history, handled) {
    const { latest } = history;
    const buckets = latencyOf(history);
    const found = buckets.size > 0;
    const set = (...figure) => this.figures.set(...figure);
    set("Messages", rate(handled), count(counter(latest, "handled")) + " since the start");
    set("Latency, median", found ? seconds(quantile(buckets, 0.5)) : "–", found ? "99 %: " + seconds(quantile(buckets, 0.99)) : "no sample lately");
    set("Actors", count(latest.actors), count(counter(latest, "spawned")) + " were started");
    set("Messages wait", count(latest.waiting), "in mailboxes, or on their way");
    set("Dead letters", count(counter(latest, "dead")), rate(history.rise((now) => counter(now, "dead"))));
    set("Restarts", count(counter(latest, "restarted")), count(counter(latest, "panicked")) + " panics");
    set("CPUs busy", busy(history), latest.process.threads + " threads");
    set("Memory", bytes(latest.process.memory_bytes), "at most " + bytes(latest.process.memory_max_bytes));
  }

  drawMap(about, samples, begin, end) {
    const rates = samples.slice(1).map((to, at) => {
      const from = samples[at];
      return [from.at, to.at, Array.from(to.handled, (value, worker) => (value - (from.handled[worker] ?? 0)) / (to.at - from.at))];
    });
    const most = rates.reduce((most, [, , its]) => its.reduce((a, b) => Math.max(a, b), most), 0) || 1;
    this.map.update({
      begin, end, rows: about.workers.map((_, worker) => "worker " + worker),
      columns: rates.map(([from, to, its]) => [from, to, its.map((value) => value / most)]),
      say: (row, column) => "worker " + row + ": " + rate(rates[column][2][row]),
    });
  }

  list(about, history) {
    const { latest, earlier, span } = history;
    const rows = latest.workers.map((now, worker) => {
      const before = earlier?.workers[worker]?.counters ?? {};
      const rates = Object.fromEntries(Object.entries(now.counters).map(([name, value]) => [name, span > 0 ? (value - (before[name] ?? 0)) / span : NaN]));
      const turn = now.in_turn && "#" + now.in_turn.actor + " " + short(now.in_turn.kind) + (now.in_turn.since_s ? ", for " + duration(now.in_turn.since_s) : "");
      return { worker, pu: about.workers[worker], rates, turn: turn ?? (now.is_occupied ? "somebody" : null) };
    });
    const most = rows.reduce((most, it) => Math.max(most, it.rates.handled || 0), 1);
    this.workers.show(rows.map((it) => ({ ...it, most })));
  }
}

// CPU time of the process by the time that passed, between its two looks.
function busyShare({ latest, earlier }) {
  const passed = latest.process.at_s - (earlier?.process.at_s ?? 0);
  return earlier && passed > 0 ? ((latest.process.cpu_ns - earlier.process.cpu_ns) * 1e-9) / passed : NaN;
}

const busy = (history) => (Number.isFinite(busyShare(history)) ? busyShare(history).toFixed(2) : "–");

class Latency {
  constructor() {
    this.map = new Heat({
      title: "Latency over time", note: "From send to handling, of a sample of the messages. A column is the time between two looks; the colour is the share that a latency has in it. Lines: the median, and dashed, 99 %.",
      height: 320, upwards: true, low: "none",
    });
    this.lines = new Lines({ title: "Quantiles", show: seconds, series: [["median", "c0"], ["90 %", "c2"], ["99 %", "c1"]] });
    this.table = new Table({
      caption: "Distribution", columns: [
        { name: "share of messages", of: (it) => it.share, show: percent, number: true },
        { name: "over the last seconds", of: (it) => it.lately, show: seconds, number: true },
        { name: "since the start", of: (it) => it.ever, show: seconds, number: true },
      ],
      key: (it) => it.share,
    });
    this.element = el("div", { class: "pane" }, this.map.element, this.lines.element, el("section", { class: "card" }, this.table.element));
  }

  show(about, history, { range }) {
    if (!history.latest) return;
    const samples = history.samples(range);
    const { begin, end } = span(samples);
    const columns = samples.slice(1).map((to, at) => ({ from: samples[at].at, to: to.at, buckets: between(samples[at].latencies, to.latencies) }));
    const bounds = columns.flatMap((it) => [...it.buckets.keys()]).map((ns) => Math.round(2 * Math.log2(ns)));
    const [low, high] = bounds.length ? [bounds.reduce((a, b) => Math.min(a, b)) - 1, bounds.reduce((a, b) => Math.max(a, b)) + 1] : [12, 24];
    const rows = Array.from({ length: high - low + 1 }, (_, at) => seconds(2 ** ((low + at) / 2) * 1e-9));
    const row = (ns) => Math.round(2 * Math.log2(ns)) - low;
    const shares = columns.map(({ from, to, buckets }) => {
      const [all, its] = [sum([...buckets.values()]), new Array(rows.length).fill(0)];
      for (const [ns, messages] of buckets) its[row(ns)] += messages / all;
      return [from, to, its];
    });
    const most = shares.reduce((most, [, , its]) => its.reduce((a, b) => Math.max(a, b), most), 0) || 1;
    const known = columns.filter((it) => it.buckets.size > 0);
    const line = (share) => known.map((it) => [(it.from + it.to) / 2, row(quantile(it.buckets, share) * 1e9) + 0.5]);
    this.map.update({
      begin, end, rows, columns: shares.map(([from, to, its]) => [from, to, its.map((value) => Math.sqrt(value / most))]),
      lines: [{ points: line(0.5), colour: "c1" }, { points: line(0.99), colour: "c1", dash: [4, 3] }],
      say: (at, column) => "up to " + rows[at] + ": " + percent(shares[column][2][at]),
    });
    const series = (name, key, share) => ({ name, colour: key, points: known.map((it) => [it.to, quantile(it.buckets, share)]) });
    this.lines.update({ begin, end, series: [series("median", "c0", 0.5), series("90 %", "c2", 0.9), series("99 %", "c1", 0.99)] });
    const [lately, ever] = [latencyOf(history), new Map(history.latest.latencies)];
    this.table.show([0.1, 0.5, 0.9, 0.99, 0.999, 1].map((share) => ({ share, lately: quantile(lately, share), ever: quantile(ever, share) })));
  }
}

class Cpus {
  constructor() {
    this.busy = new Lines({ title: "CPUs busy", note: "CPU time of all threads by the time that passed.", show: (value) => value.toFixed(2), series: [["busy", "c0"]], half: true });
    this.memory = new Lines({ title: "Memory in RAM", note: "Of the whole process.", show: bytes, isBinary: true, series: [["memory", "c2"]], half: true });
    this.map = new Heat({ title: "Load of each CPU", note: "The share of its time that it ran this process.", low: "none", high: "all", rowHeight: 18 });
    this.threads = new Table({
      caption: "Threads, those of most CPU time", columns: [
        { name: "thread", of: (it) => it.name || "–", wide: true }, { name: "number", of: (it) => it.number, show: String, number: true },
        { name: "load", of: (it) => it.load, show: percent, number: true, bar: (it) => it.load },
        { name: "CPU time", of: (it) => it.cpu_ns * 1e-9, show: seconds, number: true },
        { name: "last on CPU", of: (it) => it.cpu, number: true },
      ],
      key: (it) => it.number, sort: 2,
    });
    this.element = el("div", { class: "pane" }, this.busy.element, this.memory.element, this.map.element, el("section", { class: "card" }, this.threads.element));
  }

  show(about, history, { range }) {
    const { latest, earlier } = history;
    if (!latest) return;
    const samples = history.samples(range);
    const { begin, end } = span(samples);
    // Where there are many threads, there is no look at them at each look.
    const looks = samples.filter((one, at) => at === 0 || one.cpuAt > samples[at - 1].cpuAt);
    const pairs = looks.slice(1).map((to, at) => [looks[at], to, to.cpuAt - looks[at].cpuAt]);
    this.busy.update({ begin, end, least: 1, series: [{ name: "busy", colour: "c0", points: pairs.map(([from, to, passed]) => [to.at, ((to.cpu - from.cpu) * 1e-9) / passed]) }] });
    this.memory.update({ begin, end, series: [{ name: "memory", colour: "c2", points: samples.map((one) => [one.at, one.memory]) }] });
    const cpus = [...new Set([...Object.keys(latest.process.cpus), ...(about?.workers ?? []).filter((pu) => pu !== null).map(String)])].sort((a, b) => a - b);
    const loads = pairs.map(([from, to, passed]) => [from.at, to.at, cpus.map((cpu) => (((to.cpus[cpu] ?? 0) - (from.cpus[cpu] ?? 0)) * 1e-9) / passed)]);
    this.map.update({ begin, end, rows: cpus.map((cpu) => "CPU " + cpu), columns: loads, say: (row, column) => "CPU " + cpus[row] + ": " + percent(Math.min(loads[column][2][row], 1)) });
    const before = new Map((earlier?.process.busiest ?? []).map((it) => [it.number, it.cpu_ns]));
    const passed = latest.process.at_s - (earlier?.process.at_s ?? 0);
    this.threads.show(latest.process.busiest.map((it) => ({ ...it, load: passed > 0 && before.has(it.number) ? ((it.cpu_ns - before.get(it.number)) * 1e-9) / passed : NaN })));
  }
}

class DeadLetters {
  constructor() {
    this.rate = new Lines({ title: "Dead letters", note: "Messages that reached no actor.", show: rate, series: [["dead", "c6"]] });
    this.table = new Table({
      caption: "The latest 64, youngest first; those of the same sort together", columns: [
        { name: "for actor", of: (it) => it.to, show: (to) => "#" + to, number: true },
        { name: "of type", of: (it) => short(it.kind), title: (it) => it.kind, wide: true },
        { name: "message", of: (it) => short(it.message), title: (it) => it.message, wide: true },
        { name: "messages", of: (it) => it.count, show: count, number: true },
        { name: "why", of: (it) => it.reason, wide: true },
      ],
      key: (it) => it.key,
    });
    this.element = el("div", { class: "pane" }, this.rate.element, el("section", { class: "card" }, this.table.element));
  }

  show(about, history, { range }) {
    if (!history.latest) return;
    const samples = history.samples(range);
    this.rate.update({ ...span(samples), least: 1, series: [{ name: "dead", colour: "c6", points: steps(samples, (from, to, passed) => (to.dead - from.dead) / passed) }] });
    const sorts = new Map();
    for (const it of [...history.latest.dead_letters].reverse()) {
      const key = [it.to, it.message, it.reason].join(" ");
      sorts.set(key, { ...it, key, count: it.count + (sorts.get(key)?.count ?? 0) });
    }
    this.table.show([...sorts.values()]);
  }
}

class Nodes {
  constructor(choose) {
    this.table = new Table({
      caption: "Nodes. Enter, or a click, shows one.", columns: [
        { name: "node", of: (it) => it.address, wide: true },
        { name: "state", of: (it) => (it.error ? "down: " + it.error : it.is_ending ? "ends" : "up"), wide: true },
        { name: "program", of: (it) => it.program }, { name: "host", of: (it) => it.host },
        { name: "workers", of: (it) => it.workers, number: true },
        { name: "messages", of: (it) => it.rate, show: rate, number: true },
        { name: "wait", of: (it) => it.waiting, show: count, number: true },
        { name: "actors", of: (it) => it.actors, show: count, number: true },
        { name: "dead letters", of: (it) => it.dead, show: count, number: true },
        { name: "CPUs busy", of: (it) => it.busy, show: (value) => (Number.isFinite(value) ? value.toFixed(2) : "–"), number: true },
        { name: "memory", of: (it) => it.memory_bytes, show: bytes, number: true },
      ],
      key: (it) => it.index, sort: 0, descending: false, pick: (it) => choose(it.index), most: 1_000,
    });
    this.element = el("div", { class: "pane" }, el("section", { class: "card" }, this.table.element));
  }

  show(about, history, { nodes }) {
    const unknown = { workers: null, rate: null, waiting: null, actors: null, dead: null, busy: null, memory_bytes: null };
    this.table.show(nodes.map((node, index) => ({ ...node, ...(node.error ? unknown : {}), index })));
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
// What ends in `_ns` is shown as a time.
const isTime = (key) => key.endsWith("_ns");
const label = (key) => key.replace(/_ns$/, "").replaceAll("_", " ");
const plain = (value) => (typeof value === "number" ? count(value) : value === null ? "–" : typeof value === "boolean" ? (value ? "yes" : "no") : String(value));

// What a part of the program has to show: objects are tables of names and values, lists of objects have a column for
// each key.
class Section {
  constructor(name) {
    this.name = name;
    this.parts = new Map();
    this.element = el("div", { class: "pane" });
  }

  show(about, history) {
    const { latest, earlier, span } = history;
    const value = latest?.sections[this.name];
    if (value === undefined) return;
    this.seen = new Set();
    this.part(this.name, value, earlier?.sections[this.name], span);
    for (const [name, part] of this.parts) {
      if (this.seen.has(name)) continue;
      part.element.remove();
      this.parts.delete(name);
    }
  }

  // A part of this name and sort, which is kept from one look to the next.
  keep(name, make) {
    this.seen.add(name);
    if (!this.parts.has(name)) {
      const table = make();
      const element = el("section", { class: "card" }, el("h2", { text: name }), table.element);
      this.parts.set(name, { table, element });
      this.element.append(element);
    }
    return this.parts.get(name).table;
  }

  part(name, value, before, span) {
    if (Array.isArray(value)) return this.list(name, value.map((it) => (isObject(it) ? it : { value: it })));
    if (!isObject(value)) return this.pairs(name, { value }, {}, span);
    const own = Object.entries(value).filter(([, it]) => !isObject(it) && !Array.isArray(it));
    if (own.length) this.pairs(name, Object.fromEntries(own), before ?? {}, span);
    for (const [key, it] of Object.entries(value)) if (isObject(it) || Array.isArray(it)) this.part(name + ": " + key, it, before?.[key], span);
  }

  pairs(name, value, before, span) {
    const table = this.keep(name, () => new Table({
      columns: [
        { name: "", of: (it) => label(it.key) }, { name: "now", of: (it) => it.value, number: true },
        { name: "change", of: (it) => it.change, show: rate, number: true },
      ],
      key: (it) => it.key,
    }));
    const change = (key) => (typeof value[key] === "number" && typeof before[key] === "number" && span > 0 ? (value[key] - before[key]) / span : null);
    const text = (key) => (isTime(key) && typeof value[key] === "number" ? seconds(value[key] * 1e-9) : plain(value[key]));
    table.show(Object.keys(value).map((key) => ({ key, value: text(key), change: isTime(key) ? null : change(key) })));
  }

  list(name, rows) {
    // What a row is called comes first.
    const isName = (key) => key === "name" || key === "node";
    const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const keys = [...all.filter(isName), ...all.filter((key) => !isName(key))];
    const number = (key) => rows.some((row) => typeof row[key] === "number");
    const text = (key) => (value) => (isObject(value) || Array.isArray(value) ? JSON.stringify(value) : isTime(key) && typeof value === "number" ? seconds(value * 1e-9) : plain(value));
    const columns = () => keys.map((key) => ({ name: label(key), of: (it) => it.row[key], show: text(key), number: number(key), wide: !number(key) }));
    const table = this.keep(name + " (" + keys.length + " columns)", () => new Table({ columns: columns(), key: (it) => it.at, sort: null }));
    const part = this.parts.get(name + " (" + keys.length + " columns)");
    say(part.element.firstChild, name);
    if (table.sort === null) table.sort = undefined;
    table.show(rows.map((row, at) => ({ row, at })));
  }
}
