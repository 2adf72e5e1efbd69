// Keys and buttons. Keys typed into a field are no shortcuts.
import { clearSearch, search } from "./search.js";
import * as Case from "./state.js";

const scroller = Case.find("[data-plot-scroll]");

export const actions = {
  next: () => Case.step(Case.inNote, 1, "keys"),
  previous: () => Case.step(Case.inNote, -1, "keys"),
  shift: () => Case.stepByShift(1),
  unshift: () => Case.stepByShift(-1),
  later: () => Case.step(Case.inTime, 1, "plot"),
  earlier: () => Case.step(Case.inTime, -1, "plot"),
  in: () => Case.zoom(0.6),
  out: () => Case.zoom(1 / 0.6),
  all: () => Case.setWindow(0, 1),
  stay: () => Case.setWindow(Case.data.zero - 0.02, (Case.data.discharge ?? 1) + 0.02),
  close: () => Case.find("[data-chain-pane]").classList.remove("is-open"),
  // Other parts of the page listen to these events of the root.
  correct: () => ask("correct"),
  comment: () => ask("comment"),
  flag: () => ask("flag"),
  help: () => document.getElementById("case-help").showModal(),
  search: () => search.focus(),
};
const KEYS = {
  j: "next",
  k: "previous",
  "[": "shift",
  "]": "unshift",
  "/": "search",
  "?": "help",
  e: "correct",
  c: "comment",
  f: "flag",
  m: "maximise",
  h: "as_of",
  1: "tab-story",
  2: "tab-lanes",
  3: "tab-table",
  4: "tab-record",
};
const PLOT_KEYS = {
  ArrowLeft: "earlier",
  ArrowRight: "later",
  "+": "in",
  "=": "in",
  "-": "out",
  0: "all",
};

function ask(name) {
  const item = Case.selectedItem();
  if (item) Case.root.dispatchEvent(new CustomEvent(`case:${name}`, { detail: { item } }));
}

function escape() {
  if (clearSearch()) return;
  if (!Case.whole()) Case.setWindow(0, 1);
  else if (Case.selectedItem()) Case.select(-1);
}

document.addEventListener("keydown", (event) => {
  if (
    event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey ||
    document.querySelector("dialog[open]")
  ) return;
  if (event.target.closest("input, select, textarea, [contenteditable]")) return;
  const name = KEYS[event.key] || (event.target === scroller && PLOT_KEYS[event.key]);
  if (event.key === "Escape") escape();
  else if (actions[name]) actions[name]();
  else return;
  event.preventDefault();
});

Case.root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button) actions[button.dataset.do]?.();
});

// Selects the occurrence of the address after every part of the page has added its listeners.
export function start() {
  const wanted = Case.root.dataset.selected;
  if (wanted) Case.selectUid(wanted, "address");
  Case.root.dataset.ready = "true";
}
