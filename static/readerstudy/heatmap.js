// The heatmaps of agreement: one stop for Tab each, arrow keys between cells, and the numbers of a cell in the card.

const tables = document.querySelectorAll(".heatmap");
const card = document.getElementById("card");
const known = JSON.parse(document.getElementById("card-data")?.textContent ?? "{}");

function cells(table) {
  return [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1).map((cell) => cell.querySelector("a")));
}

function show(link) {
  document.getElementById("card-facts").hidden = false;
  document.getElementById("card-hint").hidden = true;
  const [first, second] = [nameOf(link, link.dataset.row), nameOf(link, link.dataset.column)];
  const facts = { ...known[link.dataset.pair], pair: `${first} · ${second}` };
  for (const place of card.querySelectorAll("[data-of]")) place.textContent = facts[place.dataset.of] ?? "";
  const cases = document.getElementById("card-cases");
  cases.hidden = false;
  const anchor = cases.querySelector("a");
  if (anchor) anchor.href = `${link.href}#cases-title`;
}

function nameOf(link, row) {
  return link.closest("tbody").rows[row].querySelector("th").title;
}

/** The next cell in a direction; the diagonal, which holds nothing, is stepped over. */
function next(grid, row, column, down, right) {
  let [r, c] = [row + down, column + right];
  if (grid[r]?.[c] === null) [r, c] = [r + down, c + right];
  return grid[r]?.[c];
}

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function move(event) {
  const step = STEPS[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const grid = cells(event.currentTarget);
  const row = grid.findIndex((links) => links.includes(event.target));
  if (row < 0) return;
  event.preventDefault();
  next(grid, row, grid[row].indexOf(event.target), ...step)?.focus();
}

/** Tab reaches the table once and comes back to the cell that was left. */
function settle(link) {
  for (const one of link.closest("table").querySelectorAll("a[tabindex='0']")) one.tabIndex = -1;
  link.tabIndex = 0;
}

/** On paper nobody can point at a cell: the table with every interval and n is printed, open on the page or not. */
function printWhole() {
  const details = document.querySelector("details.as-table");
  const wasOpen = details.open;
  details.open = true;
  addEventListener("afterprint", () => (details.open = wasOpen), { once: true });
}

if (tables.length) addEventListener("beforeprint", printWhole);
for (const table of tables) {
  const links = table.querySelectorAll("td a");
  for (const link of links) link.tabIndex = -1;
  if (links.length) links[0].tabIndex = 0;
  table.addEventListener("keydown", move);
  table.addEventListener("focusin", (event) => {
    if (!event.target.matches("td a")) return;
    settle(event.target);
    show(event.target);
  });
  table.addEventListener("mouseover", (event) => {
    const link = event.target.closest("td a");
    if (link) show(link);
  });
}
