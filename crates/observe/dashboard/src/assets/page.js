// The page: what comes from the server, which pane is seen, which node is shown.


const byId = (id) => document.getElementById(id);
const history = new History();
let about = null;
let nodes = [];
let node = 0;
let isPaused = false;
let stream = null;
let asking = null;

// ---- panes

const details = new Details(byId("details"), () => node);
const open = (actor) => details.open(actor);
const panes = new Map();
let shown = null;

function add(name, pane) {
  const id = "pane-" + panes.size;
  const tab = el("button", { type: "button", role: "tab", id: id + "-tab", "aria-controls": id, "aria-selected": "false", tabindex: "-1", text: name });
  const panel = el("section", { role: "tabpanel", id, "aria-labelledby": id + "-tab", tabindex: "-1", hidden: true }, pane.element);
  tab.addEventListener("click", () => choose(name));
  byId("tabs").append(tab);
  byId("panes").append(panel);
  panes.set(name, { pane, tab, panel });
  if (decodeURIComponent(location.hash.slice(1)) === name) choose(name);
}

function choose(name) {
  for (const [its, { tab, panel }] of panes) {
    tab.setAttribute("aria-selected", String(its === name));
    tab.tabIndex = its === name ? 0 : -1;
    panel.hidden = its !== name;
  }
  if (shown !== null) window.history.replaceState(null, "", "#" + encodeURIComponent(name));
  shown = name;
  draw();
}

byId("tabs").addEventListener("keydown", (event) => {
  const names = [...panes].filter(([, { tab }]) => !tab.hidden).map(([name]) => name);
  const at = names.indexOf(shown);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: names.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const name = names[(to + names.length) % names.length];
  choose(name);
  panes.get(name).tab.focus();
});

// Parts of the program come and go: so do their panes.
function sections(now) {
  for (const name of Object.keys(now.sections)) if (!panes.has(name)) add(name, new Section(name));
  for (const [name, { pane, tab }] of panes) {
    if (!(pane instanceof Section)) continue;
    tab.hidden = !(name in now.sections);
    if (tab.hidden && shown === name) choose("Throughput");
  }
}

let isDrawing = false;

function draw() {
  if (isDrawing || document.hidden) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    panes.get(shown)?.pane.show(about, history, { range: byId("range").value, nodes });
  });
}

// ---- what comes

function state(is, text) {
  const element = byId("state");
  element.dataset.is = is;
  say(element, text);
}

function problem(text) {
  byId("problem").hidden = !text;
  say(byId("problem"), text ?? "");
}

function summarize(found) {
  const before = nodes;
  nodes = found.map((it, at) => {
    const was = before[at];
    const passed = was && was.life === it.life ? it.at_s - was.at_s : 0;
    // No new look of it: the rates are those of before.
    if (was && was.life === it.life && passed === 0) return { ...it, rate: it.error ? NaN : was.rate, busy: it.error ? NaN : was.busy };
    const per = (of) => (passed > 0 ? (of(it) - of(was)) / passed : NaN);
    return { ...it, rate: per((one) => one.handled), busy: per((one) => one.cpu_ns * 1e-9) };
  });
  if (nodes.length > 1) offer();
  const own = nodes[node];
  if (own?.error) {
    state("down", "down");
    problem(own.address + " is down, and is asked again each second: " + own.error);
  } else {
    problem(null);
    state("live", isPaused ? "paused" : own?.is_ending ? "ends" : "live");
  }
}

function offer() {
  const list = byId("node");
  byId("choose").hidden = false;
  if (!panes.has("Nodes")) add("Nodes", new Nodes((at) => { show(at); choose("Throughput"); }));
  while (list.options.length < nodes.length) list.append(el("option", { value: String(list.options.length) }));
  nodes.forEach((it, at) => say(list.options[at], it.address + (it.error ? " (down)" : "")));
  list.value = String(node);
}

async function learn(life) {
  if (asking === life) return;
  asking = life;
  const of = node;
  try {
    const found = await ask("/api/about", { node: of });
    if (of !== node) return;
    about = found;
    const program = about.command[0]?.split("/").pop() || "a program";
    document.title = program + ": live";
    say(byId("program"), program);
    byId("program").title = about.command.join(" ");
    describe();
    draw();
  } catch { /* The next look asks again. */ } finally { asking = null; }
}

function describe() {
  if (!about) return;
  const { latest } = history;
  const workers = about.workers.length;
  const parts = [workers + (workers === 1 ? " worker" : " workers"), "policy " + about.policy, "process " + about.pid + " on " + about.host, "Actinium " + about.actinium_version];
  if (latest) parts.push("seen for " + duration(latest.at_s));
  say(byId("about"), parts.join(" · "));
}

function look({ node: of, life, now }) {
  if (of !== node) return;
  if (about?.life !== life) {
    // Another life of the program: nothing of the one before counts.
    if (about) forget();
    learn(life);
  }
  if (isPaused) return;
  history.push(now);
  sections(now);
  describe();
  draw();
}

function forget() {
  about = null;
  history.clear();
  for (const { pane } of panes.values()) pane.clear?.();
}

// Shows this node.
function show(at) {
  node = at;
  forget();
  details.close();
  listen();
}

function listen() {
  stream?.close();
  stream = new EventSource("/events?node=" + node);
  stream.addEventListener("nodes", (event) => summarize(JSON.parse(event.data)));
  stream.addEventListener("now", (event) => look(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    state("down", "no connection: trying again");
    // It tries by itself, unless it was refused.
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 2_000);
  });
}

// ---- start

add("Throughput", new Throughput());
add("Latency", new Latency());
add("Threads and CPUs", new Cpus());
add("Machine", new Machine());
add("Actors", new Actors(() => node, open));
add("Supervision", new Tree(() => node, open));
add("Dead letters", new DeadLetters());
if (shown === null) choose("Throughput");

theme(byId("theme"), draw);
byId("range").addEventListener("change", draw);
byId("node").addEventListener("change", (event) => show(Number(event.target.value)));
byId("pause").addEventListener("click", (event) => {
  isPaused = !isPaused;
  event.target.setAttribute("aria-pressed", String(isPaused));
  say(event.target, isPaused ? "Go on" : "Pause");
});
document.addEventListener("visibilitychange", draw);
addEventListener("resize", draw);
listen();
