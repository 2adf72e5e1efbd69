// Keys and buttons. Keys typed into a field are no shortcuts.
import { dismissNotice, showHistory, submit } from "./banner.js";
import { form } from "./form.js";
import { focusList, mergeTicked } from "./list.js";
import { mark, pickNow, respan, scroller, split } from "./note.js";
import * as Author from "./state.js";
import { again } from "./sync.js";
import { place } from "./when.js";
import { backToNote, chooseWords } from "./words.js";

const { state } = Author;

function remove() {
  const o = Author.selected();
  if (!o || o.busy || state.locked) return;
  const order = Author.ordered();
  const next = order[order.findIndex((x) => x.uid === o.uid) + 1] ?? order.at(-2);
  const focused = form.contains(document.activeElement);
  Author.select(next && next.uid !== o.uid ? next.uid : null, "remove");
  Author.edit("remove", { uid: o.uid });
  Author.announce(`Removed: ${o.mention}. Press Control Z to undo.`);
  if (focused) focusList();
}

function stepBack(kind) {
  Author.emit(kind === "undo" ? "reshaping" : "flush");
  if (kind === "undo" ? state.canUndo || state.pending.length : state.canRedo) Author.edit(kind);
}

const into = (field) => () => {
  if (!Author.selected()) Author.step(1, "keys");
  form.elements[field]?.focus();
  form.elements[field]?.select();
};
const actions = {
  next: () => Author.step(1, "keys"),
  previous: () => Author.step(-1, "keys"),
  "next-todo": () => Author.step(1, "keys", (o) => !o.placed),
  words: chooseWords,
  mark,
  split,
  respan: () => respan(state.picked),
  remove,
  merge: mergeTicked,
  tick: () => state.selected && Author.tick(state.selected, !state.ticked.has(state.selected)),
  undo: () => stepBack("undo"),
  redo: () => stepBack("redo"),
  mention: into("mention"),
  time: into("when"),
  search: into("search"),
  list: focusList,
  "not-applicable": () => place("N/A"),
  unplace: () => place(""),
  retry: again,
  submit,
  history: showHistory,
  "dismiss-notice": dismissNotice,
  help: () => document.getElementById("author-help").showModal(),
};
const READING = { j: "next", k: "previous", l: "list", "?": "help" };
const WRITING = {
  n: "words",
  u: "next-todo",
  m: "mention",
  t: "time",
  e: "search",
  x: "tick",
  M: "merge",
  Delete: "remove",
};

function escape(event) {
  if (event.target.closest("input, select, textarea")) {
    event.target.blur();
    backToNote();
  } else if (state.picked) Author.pick(null);
  else if (state.selected) Author.select(null, "keys");
}

// Undo and redo of the timeline; inside a field the browser undoes the typing.
function withControl(event) {
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return false;
  actions[key === "y" || event.shiftKey ? "redo" : "undo"]();
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") return escape(event);
  if (event.target.closest("input:not([type=checkbox], [type=radio]), select, textarea")) return;
  if (event.ctrlKey || event.metaKey) {
    if (!state.locked && withControl(event)) event.preventDefault();
    return;
  }
  const onText = event.target === document.body || event.target === scroller;
  if (event.key === "Enter" && onText) pickNow();
  const name = READING[event.key] ?? (state.locked ? undefined : WRITING[event.key]);
  if (event.key === "Enter" && onText && state.picked) actions[event.shiftKey ? "split" : "mark"]();
  else if (name) actions[name]();
  else return;
  event.preventDefault();
});

Author.root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button && !button.disabled) actions[button.dataset.do]();
});
