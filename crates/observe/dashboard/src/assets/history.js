// What was seen of a node, look by look. Memory is bounded: so many recent looks, and so many of the last hour.


const KEPT = 600;
// Of looks at four a second, one in so many is kept for the last hour.
const EACH = 24;

class Ring {
  constructor() { this.samples = []; }

  push(sample) {
    this.samples.push(sample);
    if (this.samples.length > KEPT) this.samples.splice(0, this.samples.length - KEPT);
  }
}

const counter = (now, name) => sum(now.workers.map((worker) => worker.counters[name] ?? 0)) + (now.external[name] ?? 0);

function sampleOf(now) {
  return {
    at: now.at_s,
    handled: Float64Array.from(now.workers, (worker) => worker.counters.handled ?? 0),
    all: counter(now, "handled"),
    dead: counter(now, "dead"),
    waiting: now.waiting,
    actors: now.actors,
    working: now.working,
    latencies: now.latencies,
    cpu: now.process.cpu_ns,
    cpuAt: now.process.at_s,
    cpus: now.process.cpus,
    threads: now.process.threads,
    memory: now.process.memory_bytes,
  };
}

class History {
  constructor() { this.clear(); }

  clear() {
    this.recent = new Ring();
    this.long = new Ring();
    this.looks = 0;
    this.latest = null;
    this.before = [];
  }

  push(now) {
    const last = this.recent.samples.at(-1);
    if (last && now.at_s <= last.at) return;
    const sample = sampleOf(now);
    this.recent.push(sample);
    if (this.looks % EACH === 0) this.long.push(sample);
    this.looks += 1;
    this.before.push(now);
    // What rates in tables are computed from: a second or two.
    if (this.before.length > 8) this.before.shift();
    this.latest = now;
  }

  samples(range) {
    const ring = range === "long" ? this.long.samples : this.recent.samples;
    const last = this.recent.samples.at(-1);
    return range === "long" && last && ring.at(-1) !== last ? [...ring, last] : ring;
  }

  // The look that tables compare with the latest one.
  get earlier() { return this.before[0] ?? null; }

  get span() { return this.latest && this.earlier ? this.latest.at_s - this.earlier.at_s : 0; }

  // How much a counter rises per second, over the last looks.
  rise(of) { return this.span > 0 ? (of(this.latest) - of(this.earlier)) / this.span : NaN; }
}

// Values between each sample and the next: [time, value].
function steps(samples, of) {
  return samples.slice(1).map((to, at) => {
    const from = samples[at];
    return [to.at, of(from, to, to.at - from.at)];
  });
}

// The messages in each bucket of latency between two looks: a map of upper bounds in ns.
function between(from, to) {
  const before = new Map(from);
  const found = new Map();
  for (const [ns, messages] of to) {
    const more = messages - (before.get(ns) ?? 0);
    if (more > 0) found.set(ns, more);
  }
  return found;
}

// The latency in seconds that this share of the messages did not exceed.
function quantile(buckets, share) {
  const sorted = [...buckets].sort((a, b) => a[0] - b[0]);
  const all = sum(sorted.map(([, messages]) => messages));
  let seen = 0;
  for (const [ns, messages] of sorted) {
    seen += messages;
    if (seen >= share * all) return ns * 1e-9;
  }
  return NaN;
}
