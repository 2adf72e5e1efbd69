// Rows of the record: those that an occurrence cites, the search (nearest first), and in the
// assisted protocol the suggestions. In the unaided protocol the page has no suggestions and
// requests none.
import { element } from "../common/dom.js";
import { get, post } from "../common/server.js";
import { form } from "./form.js";
import * as Author from "./state.js";

const { state } = Author;
const cited = Author.find("[data-cited]");
const results = Author.find("[data-found]");
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
        button(
          "×",
          `Remove ${row?.words ?? "this row"} from the citations`,
          () => uncite(index),
          "chip-away",
        ),
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

// The occurrence takes the row's time and cites the row.
function adopt(row) {
  const o = Author.selected();
  const rows = o.rows.includes(row.row_index) ? o.rows : [...o.rows, row.row_index];
  const hint = {
    placed: true,
    words: row.when,
    bounds: "",
    entered: "",
    unread: false,
  };
  Author.emit("adopting");
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
  take.title = "Use its time and cite it";
  take.append(described(row));
  made.append(take, button("Cite", `Cite ${row.words} without using its time`, () => cite(row)));
  return made;
}

async function look() {
  const text = search.value.trim();
  const mine = (asked += 1);
  const o = Author.selected();
  if (!text || !o) {
    results.replaceChildren();
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
      : "No connection: the record cannot be searched.";
    return;
  }
  remember(data.rows);
  const at = [...results.children].findIndex((item) => item.contains(document.activeElement));
  results.replaceChildren(...data.rows.map(result));
  // Keep the focus in the list if it was there.
  if (at >= 0) {
    (results.children[Math.min(at, results.children.length - 1)]?.querySelector("button") ?? search)
      .focus();
  }
  count.textContent = data.rows.length
    ? `${data.rows.length}${data.more ? " nearest; add words to narrow the search" : " found"}`
    : "No row contains these words.";
}

function clear() {
  if (!search) return;
  search.value = "";
  results.replaceChildren();
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
    results.querySelector("button")?.focus();
  }
});
// Up and down through the results.
results?.addEventListener("keydown", (event) => {
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
  suggestions.append(element("p", "muted", "Searching the record…"));
  const url = Author.data.urls.suggestions.replace("0000", uid);
  let { status, data } = await get(url);
  // Retry once if there was no answer.
  if (status === 0 && Author.selected()?.uid === uid) ({ status, data } = await get(url));
  if (Author.selected()?.uid !== uid) return;
  if (status !== 200) {
    suggestions.replaceChildren(
      element(
        "p",
        "muted",
        status === 0
          ? "No connection: suggestions cannot be loaded."
          : data.message ?? "No suggestions now.",
      ),
    );
    return;
  }
  const { rows } = data;
  remember(rows);
  suggestions.replaceChildren(...rows.map((row) => suggestion(uid, row)));
  if (!rows.length) {
    suggestions.append(element("p", "muted", "No row of the record is close to this occurrence."));
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
    Author.emit(
      "notice",
      "Your decision on the suggestion was not saved. Try again when you are connected.",
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
