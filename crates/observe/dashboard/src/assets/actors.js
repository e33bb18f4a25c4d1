// Actors: their types, the table of all of them, one of them, and who supervises whom.


const PAGE = 25;
const SORTS = { actor: "oldest", kind: "kind", worker: "worker", queued: "queued" };

const nameOf = (it) => (it.name ? it.name + " " : "") + "#" + it.actor;

class Actors {
  constructor(node, open) {
    Object.assign(this, { node, open, sort: "queued", pages: [null], asked: 0, seen: 0 });
    this.types = new Table({
      caption: "Types of actors",
      columns: [
        { name: "type", of: (it) => short(it.kind), title: (it) => it.kind, wide: true },
        { name: "living", of: (it) => it.living, show: count, number: true },
        { name: "messages wait", of: (it) => it.queued, show: count, number: true },
        { name: "in one mailbox", of: (it) => it.queued_max, show: count, number: true },
        { name: "time of a message", of: (it) => it.cost_ns, show: (ns) => seconds(ns * 1e-9), number: true },
        { name: "restarts", of: (it) => it.restarts, show: count, number: true },
      ],
      key: (it) => it.kind, sort: 1,
    });
    this.search = el("input", { type: "search", placeholder: "type, name or number", "aria-label": "Search actors", maxlength: 200 });
    this.search.addEventListener("input", () => {
      clearTimeout(this.later);
      this.later = setTimeout(() => this.restart(), 250);
    });
    this.table = new Table({
      columns: [
        { name: "actor", of: (it) => it.actor, show: () => "" , number: false },
        { name: "type", of: (it) => short(it.kind), title: (it) => it.kind, wide: true },
        { name: "worker", of: (it) => it.worker, number: true },
        { name: "messages wait", of: (it) => it.queued, show: count, number: true },
        { name: "supervised by", of: (it) => it.parent, show: (parent) => "#" + parent, number: true },
      ],
      key: (it) => it.actor, pick: (it) => this.open(it.actor),
    });
    this.table.columns[0].of = nameOf;
    this.table.columns[0].show = undefined;
    this.heads();
    this.total = el("span", { role: "status" });
    this.before = el("button", { type: "button", text: "Previous", onclick: () => { this.pages.pop(); this.pages.pop(); this.load(); } });
    this.next = el("button", { type: "button", text: "Next", onclick: () => this.load() });
    this.element = el("div", { class: "pane" },
      el("section", { class: "card" }, this.types.element),
      el("section", { class: "card" }, el("h2", { text: "Actors" }),
        el("div", { class: "tools" }, this.search, this.total, this.before, this.next), this.table.element));
    this.pages = [];
  }

  // The server sorts: it knows all of them.
  heads() {
    this.table.heads.forEach((head, at) => {
      const sort = [SORTS.actor, SORTS.kind, SORTS.worker, SORTS.queued][at];
      if (!sort) return;
      const button = el("button", { type: "button", text: this.table.columns[at].name });
      button.addEventListener("click", () => {
        this.sort = at === 0 && this.sort === "oldest" ? "youngest" : sort;
        this.restart();
      });
      head.replaceChildren(button);
      head.dataset.sort = sort;
    });
  }

  mark() {
    for (const head of this.table.heads) {
      const isIt = head.dataset.sort === this.sort || (head.dataset.sort === "oldest" && this.sort === "youngest");
      if (isIt) head.setAttribute("aria-sort", ["queued", "youngest"].includes(this.sort) ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }

  restart() {
    this.pages = [];
    this.following = null;
    return this.load();
  }

  // Loads the page after the last of `pages`; the first, if there is none.
  async load() {
    const after = this.pages.length ? this.following : null;
    this.pages.push(after ?? null);
    await this.reload();
  }

  async reload() {
    const turn = ++this.asked;
    this.mark();
    const after = this.pages.at(-1);
    try {
      const found = await ask("/api/actors", { node: this.node(), sort: this.sort, search: this.search.value, take: PAGE, after });
      if (turn !== this.asked) return;
      this.following = found.next;
      this.table.show(found.actors);
      const first = (this.pages.length - 1) * PAGE;
      say(this.total, found.total === 0 ? "none" : first + 1 + "–" + (first + found.actors.length) + " of " + count(found.total));
    } catch (error) {
      if (turn === this.asked) say(this.total, "no answer: " + error.message);
    }
    this.before.disabled = this.pages.length < 2;
    this.next.disabled = !this.following;
  }

  // Called with each look while the pane is seen.
  show(about, { latest }) {
    if (!latest) return;
    this.types.show(latest.walk.types);
    // The first page keeps up, every two seconds; others stay as they are until they are left.
    const now = performance.now();
    if (!this.pages.length) this.restart();
    else if (this.pages.length === 1 && now - this.seen > 2_000 && document.activeElement !== this.search) this.reload();
    else return;
    this.seen = now;
  }

  clear() {
    this.pages = [];
    this.table.show([]);
  }
}

// One actor, beside the page.
class Details {
  constructor(element, node) {
    Object.assign(this, { element, node, actor: null });
    element.addEventListener("keydown", (event) => { if (event.key === "Escape") this.close(); });
  }

  open(actor) {
    if (this.actor === null) this.from = document.activeElement;
    this.actor = actor;
    this.title = el("h2", { text: "Actor #" + actor });
    const close = el("button", { type: "button", text: "Close", onclick: () => this.close() });
    this.figures = el("dl");
    this.note = el("p", { class: "note", text: "asking" });
    this.turns = new Table({
      caption: "Its last turns. Workers keep records while this is open",
      columns: [
        { name: "began, s", of: (it) => it.begin_s, show: (at) => at.toFixed(3), number: true },
        { name: "took", of: (it) => it.took_ns, show: (ns) => seconds(ns * 1e-9), number: true },
        { name: "messages", of: (it) => it.handled, show: count, number: true },
        { name: "worker", of: (it) => it.worker, number: true },
      ],
      key: (it) => it.begin_s + " " + it.worker, most: 50,
    });
    this.messages = new Table({
      caption: "Its messages since then, estimated from a sample",
      columns: [
        { name: "message", of: (it) => it.name },
        { name: "handled", of: (it) => it.handled, show: count, number: true },
        { name: "waited, mean", of: (it) => it.wait_ns, show: (ns) => seconds(ns * 1e-9), number: true },
      ],
      key: (it) => it.name, most: 50,
    });
    this.contents = new Table({
      caption: "What the last messages of a sample contained",
      columns: [
        { name: "handled, s", of: (it) => it.at_s, show: (at) => at.toFixed(3), number: true },
        { name: "message", of: (it) => it.text },
      ],
      key: (it) => it.at_s + " " + it.text, most: 20,
    });
    this.messages.element.hidden = this.contents.element.hidden = true;
    this.children = el("ul", { class: "tree" });
    const head = el("div", { class: "head" }, this.title, close);
    this.element.replaceChildren(head, this.figures, this.note, this.turns.element, this.messages.element, this.contents.element, this.children);
    this.element.hidden = false;
    close.focus();
    clearInterval(this.again);
    this.again = setInterval(() => { if (!document.hidden) this.load(); }, 1_000);
    this.load();
  }

  async load() {
    const actor = this.actor;
    try {
      const found = await ask("/api/actor/" + actor, { node: this.node() });
      if (actor === this.actor) this.show(found);
    } catch (error) {
      if (actor === this.actor) say(this.note, error.message);
    }
  }

  show({ figures, children, turns }) {
    const pairs = [
      ["type", figures.kind], ["name", figures.name], ["worker", figures.worker], ["messages wait", count(figures.queued)],
      ["supervised by", figures.parent === null ? null : "#" + figures.parent], ["supervises", children.total ? count(children.total) : null],
      ["bytes of a message", turns.message_bytes],
    ];
    const shown = pairs.filter(([, value]) => value !== null && value !== undefined);
    this.figures.replaceChildren(...shown.flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { text: String(value) })]));
    const took = turns.turns.map((it) => it.took_ns).sort((a, b) => a - b);
    const middle = took.length ? "Half of these turns took at most " + seconds(took[Math.floor((took.length - 1) / 2)] * 1e-9) + ". " : "";
    say(this.note, middle + (turns.note ?? "") + (turns.lost ? count(turns.lost) + " records were lost: turns may be missing." : ""));
    this.turns.show([...turns.turns].reverse());
    this.messages.element.hidden = turns.messages.length === 0;
    this.messages.show(turns.messages);
    this.contents.element.hidden = turns.contents.length === 0;
    this.contents.show([...turns.contents].reverse());
    this.children.replaceChildren(...children.members.slice(0, 50).map(([it]) =>
      el("li", {}, el("button", { type: "button", class: "link", text: nameOf(it) + " " + short(it.kind), onclick: () => this.open(it.actor) }))));
  }

  close() {
    this.actor = null;
    clearInterval(this.again);
    this.element.hidden = true;
    this.element.replaceChildren();
    this.from?.focus();
  }
}

// Who supervises whom. A branch is asked for when it is opened.
class Tree {
  constructor(node, open) {
    Object.assign(this, { node, open, isLoaded: false });
    this.root = el("ul", { class: "tree" });
    this.note = el("p", { class: "note" });
    const again = el("button", { type: "button", text: "Look again", onclick: () => this.load() });
    this.element = el("div", { class: "pane" }, el("section", { class: "card" },
      el("div", { class: "head" }, el("h2", { text: "Who supervises whom" }), again), this.note, this.root));
  }

  show() { if (!this.isLoaded) this.load(); }

  clear() { this.isLoaded = false; }

  async load() {
    this.isLoaded = true;
    say(this.note, "asking");
    try {
      const found = await ask("/api/family", { node: this.node() });
      const none = "No actor supervises another one: none was started by the context of another.";
      const some = count(found.total) + " actors supervise others, and have no parent themselves. Those with most children come first.";
      say(this.note, found.total === 0 ? none : some);
      this.root.replaceChildren(...this.lines(found));
      const first = this.root.querySelector(".open");
      if (first && found.members.length <= 3) first.click();
    } catch (error) { say(this.note, "no answer: " + error.message); }
  }

  lines({ total, members }) {
    const lines = members.map(([it, children]) => this.line(it, children));
    if (total > members.length) lines.push(el("li", { class: "note", text: "and " + count(total - members.length) + " more" }));
    return lines;
  }

  line(it, children) {
    const name = el("button", { type: "button", class: "link", text: nameOf(it) + " " + short(it.kind), onclick: () => this.open(it.actor) });
    const figures = [children ? count(children) + " children" : null, it.queued ? count(it.queued) + " messages wait" : null, it.worker === null ? null : "worker " + it.worker];
    const line = el("li", {}, name, el("span", { class: "note", text: " " + figures.filter(Boolean).join(", ") }));
    if (!children) return line;
    const open = el("button", { type: "button", class: "open", "aria-expanded": "false", "aria-label": "Children of " + nameOf(it), text: "+" });
    open.addEventListener("click", async () => {
      const below = line.querySelector(":scope > ul");
      open.textContent = below ? "+" : "−";
      open.setAttribute("aria-expanded", String(!below));
      if (below) return below.remove();
      const list = el("ul");
      line.append(list);
      try { list.append(...this.lines(await ask("/api/family", { node: this.node(), of: it.actor }))); }
      catch (error) { list.append(el("li", { class: "note", text: error.message })); }
    });
    line.prepend(open);
    return line;
  }
}
