// Tables of more than 30 rows: heads that stay in sight, and heads that sort where the page holds every row; the
// server sorts what spans several pages (annotation/site/sorted_tables.py).

const MANY = 30;
const NUMBER = /^[+-]?\d[\d,\u00a0\u202f']*(\.\d+)?/;

const DAY = /^(\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]{2} \d{4})(?:, (\d\d:\d\d))?/; // as pages write them: 3 Feb 2026, 12:00

/** What a cell sorts by: its date or number where it begins with one, else its text; nothing and "n/a" come last. */
function valueOf(row, column) {
  const text = (row.cells[column]?.innerText ?? "").trim().replace("\u2212", "-");
  const day = DAY.exec(text);
  if (day) return Date.parse(`${day[1]} ${day[2] ?? "00:00"}Z`);
  const number = NUMBER.exec(text.replace(/^<\s*/, ""));
  if (number) return Number(number[0].replace(/[,\u00a0\u202f']/g, ""));
  return text === "" || text === "n/a" ? null : text.toLocaleLowerCase();
}

function compare(first, second) {
  if (typeof first === typeof second) return typeof first === "number" ? first - second : first.localeCompare(second);
  return typeof first === "number" ? -1 : 1;
}

function sort(table, column, isDown) {
  const body = table.tBodies[0];
  const known = [...body.rows].map((row, place) => ({ row, place, value: valueOf(row, column) }));
  known.sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null) || a.place - b.place;
    return (isDown ? -1 : 1) * compare(a.value, b.value) || a.place - b.place;
  });
  body.append(...known.map((one) => one.row));
}

/** A second press turns the order round. */
function offerSorting(table, heads) {
  heads.forEach((head, column) => {
    if (!head.textContent.trim() || head.querySelector("a.sort")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isDown = head.getAttribute("aria-sort") === "ascending";
      for (const one of heads) one.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      sort(table, column, isDown);
    });
  });
}

function isPlain(table) {
  return table.tHead?.rows.length === 1 && !table.querySelector("tbody [rowspan], thead [colspan], tbody [colspan]");
}

/** Only a table that fits can leave its head to the window; a wider one scrolls in a box of its own. */
function keepHead(table) {
  const box = table.closest(".table-scroll");
  if (!box) return table.classList.add("heads-stay");
  new ResizeObserver(() => {
    const fits = table.offsetWidth <= box.clientWidth;
    box.classList.toggle("fits", fits);
    box.classList.toggle("tall", !fits);
  }).observe(box);
  table.classList.add("heads-stay");
}

function enhance() {
  for (const table of document.querySelectorAll("main table:not(.heads-stay)")) {
    const [body, ...more] = table.tBodies;
    if (!table.tHead || !body || more.length || body.rows.length <= MANY) continue;
    keepHead(table);
    const holdsAll = !document.querySelector(".pager [rel]");
    if (holdsAll && isPlain(table)) offerSorting(table, [...table.tHead.rows[0].cells]);
  }
}

enhance();
document.addEventListener("htmx:afterSettle", enhance);
