// The same data as a table: sorted by its heads, filtered by its second row, with the arrow keys to
// move. Rows are added on scrolling, so that a table of thousands does not block the page.
import { element } from "../common/dom.js";
import { hasWords, wordsOf } from "../common/filter.js";
import { chosenOf } from "../common/moment.js";
import * as Case from "./state.js";

const holder = Case.find("[data-table]");
const BATCH = 250;
const lanes = Case.data.lanes.map((lane) => lane.label);
function number(value) {
  if (value === undefined) return "";
  const digits = Math.abs(value) < 1000 ? 1 : 0;
  return value.toLocaleString("en-GB", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).replace("-", "−");
}
const KNOWN = {
  known: "known",
  later: "documented later",
  uncertain: "uncertain",
  not_yet: "not yet",
};
const COLUMNS = [
  { name: "#", key: (i) => i.n, text: (i) => String(i.n), num: true },
  {
    name: "Occurrence",
    key: (i) => i.m.toLowerCase(),
    text: (i) => i.m,
    filter: "text",
    wrap: true,
  },
  { name: "Kind", key: (i) => i.l, text: (i) => lanes[i.l], filter: lanes },
  { name: "Hours", key: (i) => i.t, text: (i) => number(i.t), num: true },
  { name: "When", key: (i) => i.t, text: (i) => Case.momentWords(i), filter: "text" },
  {
    name: "How",
    key: (i) => i.s,
    text: (i) => Case.statusWords[i.s],
    filter: Object.values(Case.statusWords),
    status: true,
  },
  { name: "Text alone", key: (i) => i.tt, text: (i) => number(i.tt), num: true },
  {
    name: "Shift",
    key: (i) => (i.d === undefined ? undefined : Math.abs(i.d)),
    text: (i) => i.sw || "",
    num: true,
  },
  { name: "Bounds", key: (i) => i.lo, text: (i) => (i.b ? chosenOf(i.b) : ""), filter: "text" },
  { name: "Reference", key: (i) => i.rt, text: (i) => number(i.rt), num: true },
  ...(Case.data.notes
    ? [{
      name: "Note",
      key: (i) => i.nt,
      text: (i) => Case.noteWords(i),
      filter: "text",
      wrap: true,
    }]
    : []),
  { name: "As of", key: (i) => Case.knownOf(i), text: (i) => KNOWN[Case.knownOf(i)] ?? "" },
];
const sort = { column: 0, down: false };
const filters = new Array(COLUMNS.length).fill("");
const hidden = new Set(Case.remembered.get("columns", []));
let rowOf = new Map();
let shown = [];
let built = false;
let current = null;

const count = element("span", "muted");
count.setAttribute("role", "status");
const wrap = element("div", "table-wrap case-table");
const table = wrap.appendChild(element("table", "table"));
table.append(
  element("caption", "visually-hidden", "Occurrences with their times in hours from admission"),
);
const head = table.createTHead();
const body = table.createTBody();

function compare(a, b) {
  const key = COLUMNS[sort.column].key;
  const [x, y] = [key(a), key(b)];
  if (x === undefined || y === undefined) return (x === undefined) - (y === undefined) || a.n - b.n;
  return (x < y ? -1 : x > y ? 1 : 0) * (sort.down ? -1 : 1) || a.n - b.n;
}

function wanted(item) {
  if (!Case.inWindow(item) || (Case.state.hits && !Case.state.hits.has(Case.byUid.get(item.u)))) {
    return false;
  }
  return filters.every((filter, index) => {
    if (!filter) return true;
    const text = COLUMNS[index].text(item);
    return Array.isArray(COLUMNS[index].filter) ? text === filter : hasWords(text, filter);
  });
}

function row(item) {
  const made = element("tr");
  made.dataset.u = item.u;
  made.tabIndex = -1;
  COLUMNS.forEach((column, index) => {
    const cell = document.createElement(index === 1 ? "th" : "td");
    if (index === 1) cell.scope = "row";
    cell.className = column.num ? "num" : column.wrap ? "wrap" : "num-left";
    if (column.status) cell.append(element("span", `status status-${item.s}`, column.text(item)));
    else cell.textContent = column.text(item);
    made.append(cell);
  });
  return made;
}

function fill() {
  shown = Case.items.filter(wanted).sort(compare);
  rowOf = new Map();
  body.replaceChildren();
  table.setAttribute("aria-rowcount", String(shown.length + 2));
  count.textContent = shown.length === Case.items.length
    ? `${shown.length} occurrences`
    : `${shown.length} of ${Case.items.length} occurrences`;
  more();
  focusable(body.rows[0] || null);
  choose(Case.selectedItem());
}

function more(until = body.rows.length + BATCH) {
  const batch = document.createDocumentFragment();
  for (const item of shown.slice(body.rows.length, until)) {
    const made = row(item);
    rowOf.set(item.u, made);
    batch.append(made);
  }
  body.append(batch);
}

const nearEnd = () => wrap.scrollTop + 2 * wrap.clientHeight > wrap.scrollHeight;
wrap.addEventListener("scroll", () => body.rows.length < shown.length && nearEnd() && more(), {
  passive: true,
});

function focusable(made) {
  if (current) current.tabIndex = -1;
  current = made;
  if (current) current.tabIndex = 0;
}

function choose(item) {
  body.querySelectorAll(".is-selected").forEach((made) => {
    made.classList.remove("is-selected");
    made.removeAttribute("aria-current");
  });
  if (item && !rowOf.has(item.u) && shown.includes(item)) more(shown.indexOf(item) + BATCH);
  const made = item && rowOf.get(item.u);
  if (!made) return;
  made.classList.add("is-selected");
  made.setAttribute("aria-current", "true");
  focusable(made);
  if (!holder.hidden) made.scrollIntoView({ block: "nearest" });
}

function heads() {
  const names = head.insertRow();
  const fields = head.insertRow();
  fields.className = "filter-cells";
  COLUMNS.forEach((column, index) => {
    const cell = names.appendChild(element("th", `column-${index}${column.num ? " num" : ""}`));
    cell.scope = "col";
    const button = cell.appendChild(element("button", "sort", column.name));
    button.type = "button";
    button.addEventListener("click", () => {
      sort.down = sort.column === index && !sort.down;
      sort.column = index;
      markSort();
      fill();
    });
    fields.append(field(column, index));
  });
}

function field(column, index) {
  const cell = element("td");
  if (!column.filter) return cell;
  const input = document.createElement(column.filter === "text" ? "input" : "select");
  input.setAttribute("aria-label", `Filter by ${column.name}`);
  if (column.filter === "text") input.type = "search";
  else {
    input.append(
      new Option("all", ""),
      ...column.filter.map((value) => new Option(value, value)),
    );
  }
  input.addEventListener("input", () => {
    filters[index] = column.filter === "text" ? wordsOf(input.value) : input.value;
    fill();
  });
  cell.append(input);
  return cell;
}

function markSort() {
  [...head.rows[0].cells].forEach((cell, index) => {
    if (index === sort.column) {
      cell.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
    } else cell.removeAttribute("aria-sort");
  });
}

function columnChoice() {
  const made = element("details", "columns");
  made.append(element("summary", "", "Columns"));
  const box = made.appendChild(element("div", "columns-list"));
  COLUMNS.forEach((column, index) => {
    if (index < 2) return;
    const label = box.appendChild(element("label"));
    const check = label.appendChild(element("input"));
    check.type = "checkbox";
    check.checked = !hidden.has(index);
    label.append(` ${column.name}`);
    check.addEventListener("change", () => {
      if (check.checked) hidden.delete(index);
      else hidden.add(index);
      Case.remembered.set("columns", [...hidden]);
      hide();
    });
  });
  return made;
}

// The last column has words only while the slider "As of" is open.
const hide = () => {
  table.dataset.hide = [...hidden, ...(Case.state.asOf ? [] : [COLUMNS.length - 1])].join(" ");
};

function build() {
  built = true;
  const bar = element("div", "table-bar");
  bar.append(count, columnChoice());
  holder.append(bar, wrap);
  heads();
  markSort();
  hide();
  fill();
}

body.addEventListener("click", (event) => {
  const made = event.target.closest("tr");
  if (made) Case.selectUid(made.dataset.u, "table");
});
body.addEventListener("keydown", (event) => {
  const made = event.target.closest("tr");
  if (event.key === "End") more(shown.length);
  else if (event.key === "ArrowDown" && !made.nextElementSibling) more();
  const to = {
    ArrowDown: made?.nextElementSibling,
    ArrowUp: made?.previousElementSibling,
    Home: body.firstChild,
    End: body.lastChild,
  }[event.key];
  if (event.key === "Enter") Case.selectUid(made.dataset.u, "table");
  if (!to) return;
  event.preventDefault();
  event.stopPropagation();
  focusable(to);
  to.focus();
  Case.selectUid(to.dataset.u, "table");
});

Case.on("tab", (name) => {
  if (name !== "table") return;
  if (built) choose(Case.selectedItem());
  else build();
});
Case.on("select", choose);
document.addEventListener("clockchange", () => built && fill());
Case.on("print", () => {
  if (!built) build();
  more(shown.length);
});
Case.on("asOf", () => {
  hide();
  if (built) fill();
});
for (const name of ["window", "search"]) Case.on(name, () => built && fill());
