// Tables, themes, and the page as a whole.

// --- Tables ------------------------------------------------------------------------------------------------------------

const ROWS_AT_FIRST = 20;
const sortable = (table) => {
  const body = table.tBodies[0];
  let rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  let [all, wanted] = [false, ''];
  const count = element('span', { 'aria-live': 'polite' });
  const more = element('button', { type: 'button', class: 'more' });
  const update = () => {
    const matching = rows.filter((row) => row.textContent.toLowerCase().includes(wanted));
    const shown = all ? matching : matching.slice(0, ROWS_AT_FIRST);
    body.replaceChildren(...shown);
    count.textContent = wanted ? `${matching.length} of ${rows.length} rows` : `${rows.length} rows`;
    more.hidden = matching.length <= ROWS_AT_FIRST;
    more.textContent = all ? 'Show fewer' : `Show all ${matching.length}`;
  };
  heads.forEach((head, column) => {
    const button = element('button', { type: 'button', title: 'Sort' }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      // Numbers are looked at from the largest, texts from A.
      const numeric = head.classList.contains('number');
      const now = head.getAttribute('aria-sort');
      const down = now ? now === 'ascending' : numeric;
      heads.forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = (row) => {
        const cell = row.cells[column];
        if ('missing' in cell.dataset) return null;
        return 'value' in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
      };
      const compare = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b
        : String(a).localeCompare(String(b), 'en', { numeric: true }));
      rows = rows.map((row) => ({ row, key: key(row) })).sort((a, b) => {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
        return down ? compare(b.key, a.key) : compare(a.key, b.key);
      }).map(({ row }) => row);
      update();
    });
  });
  if (rows.length > ROWS_AT_FIRST) {
    const input = element('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter rows' });
    input.addEventListener('input', () => { wanted = input.value.trim().toLowerCase(); update(); });
    more.addEventListener('click', () => { all = !all; update(); });
    table.parentElement.before(element('div', { class: 'find' }, input, count));
    table.parentElement.after(more);
  }
  update();
};

// --- The page --------------------------------------------------------------------------------------------------------------

const KINDS = { lines: Lines, heat: Heat, gantt: Gantt, scaling: Scaling };
// A chart that fails says so in its place, and leaves the others alone.
const guarded = (chart) => {
  try {
    chart.draw();
    chart.plot.dataset.drawn = 'yes';
  } catch (error) {
    chart.plot.dataset.drawn = 'no';
    chart.plot.replaceChildren(element('p', { class: 'empty' }, `The chart could not be drawn: ${error.message}`));
    console.error(error);
  }
};
const drawn = (charts) => {
  charts.forEach(guarded);
  // A label that is longer than all others moves the edge of the linked charts before it.
  const behind = (chart) => chart.group && chart.group.members.some((member) => (member.left || 0) > chart.margin.left);
  charts.filter(behind).forEach(guarded);
};
const charts = JSON.parse(document.getElementById('data').textContent).map((data) => new KINDS[data.kind](data));
const drawAll = () => drawn(charts);

const dark = () => root.dataset.theme
  ? root.dataset.theme === 'dark' : window.matchMedia('(prefers-color-scheme: dark)').matches;
const toggle = element('button', { type: 'button', class: 'theme' });
const setTheme = (theme) => {
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  toggle.textContent = dark() ? 'Light' : 'Dark';
  toggle.title = `Show the page in ${dark() ? 'light' : 'dark'} colours`;
  drawAll();
};
toggle.addEventListener('click', () => setTheme(dark() ? 'light' : 'dark'));
document.body.prepend(toggle);
document.querySelectorAll('table.sortable').forEach(sortable);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => setTheme(root.dataset.theme));

let waiting = 0;
let width = window.innerWidth;
window.addEventListener('resize', () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(drawAll);
});
// Paper is light.
let before;
window.addEventListener('beforeprint', () => { before = root.dataset.theme; setTheme('light'); });
window.addEventListener('afterprint', () => setTheme(before));
setTheme();

// For tests.
window.report = { ticks, axisTicks, show, indexAt, charts };
