// Rows of the record: what an occurrence rests on, the search (nearest first), and in the assisted
// protocol the suggestions beside it. In the unaided protocol there is no place for suggestions on
// the page, and none is ever asked for.
import { element } from "../shared/dom.js";
import { form } from "./form.js";
import * as Author from "./state.js";
import { get, post } from "./sync.js";

const { state } = Author;
const cited = Author.find("[data-cited]");
const found = Author.find("[data-found]");
const search = form.elements.search;
const count = Author.find("[data-search-count]");
const suggestions = Author.find("[data-suggestions]");
const SEARCH_AFTER = 250;
const known = new Map();
let asked = 0;
let timer = null;

const remember = (rows) => rows.forEach((row) => known.set(row.row_index, row));

function described(row) {
  const made = element("span", "row-words");
  made.append(element("b", "", row.words));
  if (row.value_words) made.append(element("span", "row-value", row.value_words));
  made.append(element("span", "muted", [row.when, row.kind].filter(Boolean).join(" · ")));
  return made;
}

function button(words, label, act, className = "button button-small") {
  const made = element("button", className, words);
  made.type = "button";
  if (label) made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  return made;
}

function drawCited(o) {
  const missing = o.rows.filter((index) => !known.has(index));
  cited.hidden = !o.rows.length && !state.locked;
  cited.replaceChildren(...o.rows.map((index) => {
    const made = element("li");
    const row = known.get(index);
    made.append(row ? described(row) : element("span", "muted", "a row of the record"));
    if (!state.locked) {
      made.append(
        button("×", `Do not rest on ${row?.words ?? "this row"}`, () => uncite(index), "chip-away"),
      );
    }
    return made;
  }));
  if (state.locked && !o.rows.length) cited.append(element("li", "none", "none"));
  if (missing.length) fetchRows(o.uid, missing);
}

const asking = new Set();
async function fetchRows(uid, indices) {
  const wanted = indices.filter((index) => !asking.has(index));
  if (!wanted.length) return;
  wanted.forEach((index) => asking.add(index));
  const { status, data } = await post(Author.data.urls.rows, { indices: wanted });
  wanted.forEach((index) => asking.delete(index));
  if (status !== 200) return;
  remember(data.rows);
  if (Author.selected()?.uid === uid && data.rows.length) drawCited(Author.selected());
}

// The row's own time is taken, and the row is what it rests on.
function adopt(row) {
  const o = Author.selected();
  const rows = o.rows.includes(row.row_index) ? o.rows : [...o.rows, row.row_index];
  const hint = {
    placed: true,
    words: row.moment,
    clock: row.clock,
    bounds: "",
    entered: "",
    unread: false,
  };
  Author.tell("adopting");
  Author.change(o.uid, { time: row.hours, lower: null, upper: null, rows }, hint);
  Author.announce(`Placed: ${row.when}, from ${row.words}`);
}
function cite(row) {
  const o = Author.selected();
  if (!o.rows.includes(row.row_index)) Author.change(o.uid, { rows: [...o.rows, row.row_index] });
  Author.announce(`Cited: ${row.words}`);
}
function uncite(index) {
  const o = Author.selected();
  Author.change(o.uid, { rows: o.rows.filter((one) => one !== index) });
}

function result(row) {
  const made = element("li");
  const take = button("", "", () => adopt(row), "found-row");
  take.title = "Take its time and cite it";
  take.append(described(row));
  made.append(take, button("Cite", `Cite ${row.words} without taking its time`, () => cite(row)));
  return made;
}

async function look() {
  const text = search.value.trim();
  const mine = (asked += 1);
  const o = Author.selected();
  if (!text || !o) {
    found.replaceChildren();
    count.textContent = "";
    return;
  }
  const body = { text };
  if (o.time !== null) body.near = o.time;
  const { status, data } = await post(Author.data.urls.rows, body);
  if (mine !== asked) return;
  if (status !== 200) {
    count.textContent = status === 422
      ? data.message
      : "The record cannot be searched without the connection.";
    return;
  }
  remember(data.rows);
  const at = [...found.children].findIndex((item) => item.contains(document.activeElement));
  found.replaceChildren(...data.rows.map(result));
  // A person who is in the list already stays in it.
  if (at >= 0) {
    (found.children[Math.min(at, found.children.length - 1)]?.querySelector("button") ?? search)
      .focus();
  }
  count.textContent = data.rows.length
    ? `${data.rows.length}${data.more ? " nearest; more words narrow it down" : " found"}`
    : "No row has these words.";
}

function clear() {
  if (!search) return;
  search.value = "";
  found.replaceChildren();
  count.textContent = "";
}

search?.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(look, SEARCH_AFTER);
});
search?.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    clearTimeout(timer);
    look();
  } else if (event.key === "ArrowDown") {
    event.preventDefault();
    found.querySelector("button")?.focus();
  }
});
// Up and down through what was found.
found?.addEventListener("keydown", (event) => {
  const item = event.target.closest("li");
  const next = {
    ArrowDown: item?.nextElementSibling,
    ArrowUp: item?.previousElementSibling ?? search.parentElement,
  }[event.key];
  if (!next) return;
  event.preventDefault();
  next.querySelector("button, input").focus();
});

async function suggest(uid) {
  suggestions.replaceChildren();
  if (!uid || uid.startsWith("new-")) return;
  suggestions.append(element("p", "muted", "Looking in the record…"));
  const url = Author.data.urls.suggestions.replace("0000", uid);
  let { status, data } = await get(url);
  // One that got no answer is asked for once more.
  if (status === 0 && Author.selected()?.uid === uid) ({ status, data } = await get(url));
  if (Author.selected()?.uid !== uid) return;
  if (status !== 200) {
    suggestions.replaceChildren(
      element(
        "p",
        "muted",
        status === 0
          ? "No suggestions without the connection."
          : data.message ?? "No suggestions now.",
      ),
    );
    return;
  }
  const { rows } = data;
  remember(rows);
  suggestions.replaceChildren(...rows.map((row) => suggestion(uid, row)));
  if (!rows.length) {
    suggestions.append(element("p", "muted", "Nothing in the record is near to this."));
  }
}

function suggestion(uid, row) {
  const made = element("div", "suggestion");
  made.dataset.state = row.state;
  made.append(described(row));
  if (row.state === "accepted" || row.state === "dismissed") {
    made.append(element("span", "muted", row.state));
    if (row.state === "accepted") return made;
  }
  made.append(button("Use", `Use ${row.words}, ${row.when}`, () => decide(uid, row, true)));
  if (row.state !== "dismissed") {
    made.append(button("Dismiss", `Dismiss ${row.words}`, () => decide(uid, row, false)));
  }
  return made;
}

async function decide(uid, row, accept) {
  const url = Author.data.urls.suggestion.replace("0000", uid).replace(
    /\/0\/$/u,
    `/${row.row_index}/`,
  );
  if (accept) adopt(row);
  const { status } = await post(url, { accept });
  if (status !== 200) {
    Author.tell(
      "notice",
      "What became of the suggestion could not be recorded; try again once the connection is back.",
      "error",
    );
  }
  if (Author.selected()?.uid === uid) suggest(uid);
}

let drawn = "";
let offered = null;
Author.on("form", (o) => {
  const signature = `${o.uid} ${o.rows.join(" ")} ${state.locked}`;
  if (signature !== drawn) {
    drawn = signature;
    drawCited(o);
  }
  if (suggestions && offered !== o.uid) {
    offered = o.uid;
    suggest(o.uid);
  }
});
Author.on("select", clear);
