// Keys and buttons. Keys typed into a field are no shortcuts.
import { chooseByKey } from "./answers.js";
import { ready, toPlace } from "./item.js";
import { commit, flag, prefetch, skip, undo } from "./queue.js";
import { openNote } from "./notes.js";
import { findSeries, stepSeries } from "./record.js";
import * as Review from "./state.js";
import { again } from "./sync.js";
import { openTimelines } from "./timelines.js";

const feedback = Review.find("[data-feedback]");

// People who dictate or have a tremor can turn off single-character keys (WCAG 2.1.4); Enter and
// Tab still work.
const keysWanted = Review.find("[data-keys-wanted]");
try {
  keysWanted.checked = localStorage.getItem("review.keys") !== "off";
} catch {
  // The browser may block storage; the choice lasts as long as the page then.
}
keysWanted.addEventListener("change", () => {
  try {
    localStorage.setItem("review.keys", keysWanted.checked ? "on" : "off");
  } catch {
    // As above.
  }
});

function field(name) {
  const input = Review.find(`[name=${name}]`);
  input?.focus();
  input?.select();
}
const actions = {
  commit,
  undo,
  skip,
  flag,
  place: toPlace,
  timelines: openTimelines,
  retry: again,
  dismiss: () => Review.note(""),
};
const KEYS = {
  u: undo,
  s: skip,
  f: flag,
  c: () => field("comment"),
  t: () => field("own_time"),
  n: openNote,
  p: toPlace,
  w: openTimelines,
  "[": () => stepSeries(-1),
  "]": () => stepSeries(1),
  "/": findSeries,
  "?": () => document.getElementById("review-help").showModal(),
};

Review.root.addEventListener("click", (event) => {
  const name = event.target.closest("[data-do]")?.dataset.do;
  if (name in actions) actions[name]();
});

// Enter on a link or another button activates it. On an answer it chooses the answer, and saves it
// if it was chosen already. On a series it does nothing.
function enter(event) {
  const focused = event.target.closest("button, a");
  if (focused && focused.getAttribute("aria-pressed") !== "true") return;
  if (focused && !focused.matches("[data-answer-value]")) return;
  event.preventDefault();
  commit();
}

document.addEventListener("keydown", (event) => {
  if (
    event.ctrlKey || event.metaKey || event.altKey || event.isComposing ||
    document.querySelector("dialog[open]")
  ) return;
  if (event.target.closest("input, textarea, select")) {
    const leaves = event.key === "Escape" ||
      (event.key === "Enter" && event.target.closest("[data-decide]"));
    if (leaves) {
      event.preventDefault();
      Review.item()?.focus({ preventScroll: true });
    }
    return;
  }
  if (event.repeat) return;
  if (event.key === "Enter") enter(event);
  else if (!keysWanted.checked) return;
  else if (/^[1-6]$/u.test(event.key) && Review.item()) {
    event.preventDefault();
    if (feedback?.hidden ?? true) chooseByKey(event.key);
  } else if (event.key in KEYS) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

export function start() {
  Review.progress({});
  ready("");
  prefetch();
  Review.root.dataset.ready = "";
}
