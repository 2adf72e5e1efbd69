// Selecting words with the keyboard. In the note an arrow goes from word to word, Shift extends the
// selection, Enter marks it; every step is announced.
import { mark, rangeOf, reveal, scroller, split } from "./note.js";
import * as Author from "./state.js";
import * as Text from "./text.js";

const { note, state } = Author;
const WORDS_READ = 12;
// Word numbers: `anchor` is the start of the selection, `at` the current word. Null outside this
// mode.
let cursor = null;
let byKeys = false;

const spanOf = () => {
  const [first, last] = [Math.min(cursor.anchor, cursor.at), Math.max(cursor.anchor, cursor.at)];
  return { start: note.words[first].start, end: note.words[last].end };
};

function description(span) {
  const words =
    note.words.filter((word) => word.start >= span.start && word.end <= span.end).length;
  const text = note.slice(span.start, span.end);
  const over = Author.inNote().filter((o) => o.start <= span.start && o.end >= span.end);
  const inside = over.length ? ` · in ${over.map((o) => o.mention).join(", ")}` : "";
  return words > WORDS_READ
    ? `${words} words selected${inside}`
    : `${text}${words > 1 ? `, ${words} words selected` : ""}${inside}`;
}

function show(span = spanOf()) {
  Author.pick(span, "words");
  reveal(span);
  Author.announce(description(span));
}

function begin() {
  if (!note.words.length) return;
  const chosen = Author.selected();
  const from = state.picked?.start ?? chosen?.start ?? firstSeen();
  const at = Text.wordAt(note, from);
  cursor = { anchor: at, at };
  byKeys = true;
  scroller.setAttribute("role", "application");
  scroller.classList.add("is-choosing");
  show();
}

function end() {
  if (!cursor) return;
  cursor = null;
  scroller.setAttribute("role", "region");
  scroller.classList.remove("is-choosing");
  Author.pick(null);
}

// The first visible word, by binary search: words follow each other down the page.
function firstSeen() {
  const top = scroller.getBoundingClientRect().top;
  let [low, high] = [0, note.words.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rangeOf(note.words[middle]).getBoundingClientRect().top < top) low = middle + 1;
    else high = middle;
  }
  return note.words[low].start;
}

// The nearest word of the next line below or above.
function byLine(direction) {
  const here = rangeOf(note.words[cursor.at]).getBoundingClientRect();
  const middle = (box) => Math.abs((box.left + box.right - here.left - here.right) / 2);
  let best = null;
  for (let n = cursor.at + direction; n >= 0 && n < note.words.length; n += direction) {
    const box = rangeOf(note.words[n]).getBoundingClientRect();
    const away = direction * (box.top - here.top);
    if (away < here.height * 0.6) continue;
    if (best && Math.abs(box.top - best.top) > here.height * 0.6) break;
    if (!best || middle(box) < best.off) best = { n, top: box.top, off: middle(box) };
  }
  return best?.n ?? cursor.at;
}

function target(key, whole) {
  const last = note.words.length - 1;
  if (key === "ArrowRight") return Math.min(last, cursor.at + 1);
  if (key === "ArrowLeft") return Math.max(0, cursor.at - 1);
  if (key === "ArrowDown") return byLine(1);
  if (key === "ArrowUp") return byLine(-1);
  if (key === "Home") return whole ? 0 : lineEdge(-1);
  if (key === "End") return whole ? last : lineEdge(1);
  return null;
}

function lineEdge(direction) {
  const top = rangeOf(note.words[cursor.at]).getBoundingClientRect().top;
  let n = cursor.at;
  while (
    note.words[n + direction] &&
    Math.abs(rangeOf(note.words[n + direction]).getBoundingClientRect().top - top) < 4
  ) n += direction;
  return n;
}

// Moves the end of the selection by one character, for marks that end inside a word.
function byCharacter(direction) {
  const { start, end } = state.picked;
  const moved = end + direction;
  if (moved <= start || moved > note.length) return;
  Author.pick({ start, end: moved }, "words");
  Author.announce(`${note.slice(start, moved)}, ends at a character`);
}

// Selects the occurrences over the selection, one after the other.
function choose() {
  const { picked } = state;
  const over = Author.inNote().filter((o) => o.start <= picked.start && o.end >= picked.end).sort((
    a,
    b,
  ) => a.end - a.start - (b.end - b.start));
  if (!over.length) return Author.announce("No occurrence here");
  return Author.select(
    over[(over.findIndex((o) => o.uid === state.selected) + 1) % over.length].uid,
    "words",
  );
}

function pressed(event) {
  const { key } = event;
  if (!cursor) {
    if (
      !key.startsWith("Arrow") || event.ctrlKey || event.altKey || event.metaKey ||
      key === "ArrowUp" || key === "ArrowDown"
    ) return false;
    begin();
    return true;
  }
  if (key === "Escape") end();
  else if (key === "Enter" && event.shiftKey) split();
  else if (key === "Enter") mark();
  else if (key === " ") choose();
  else if (event.altKey && event.shiftKey && (key === "ArrowLeft" || key === "ArrowRight")) {
    byCharacter(key === "ArrowRight" ? 1 : -1);
  } else {
    const to = event.altKey || event.metaKey ? null : target(key, event.ctrlKey);
    if (to === null) return false;
    cursor.at = to;
    if (!event.shiftKey) cursor.anchor = to;
    show();
  }
  return true;
}

scroller.addEventListener("keydown", (event) => {
  if (event.target !== scroller || state.locked || !pressed(event)) return;
  event.preventDefault();
  event.stopPropagation();
});
scroller.addEventListener("blur", () => {
  if (cursor) {
    cursor = null;
    scroller.setAttribute("role", "region");
    scroller.classList.remove("is-choosing");
  }
});
Author.on("words-off", () => {
  byKeys = false;
  end();
});
// Marking continues here after an occurrence has its time.
export function backToNote() {
  scroller.focus({ preventScroll: true });
  if (byKeys) begin();
}
export function chooseWords() {
  scroller.focus({ preventScroll: true });
  if (!cursor) begin();
}
