// The one state of the case page: which occurrence is selected and which time window is shown.
// Note, plot, table and panel listen.
import { createEvents } from "../shared/events.js";
import { rememberedUnder } from "../shared/remembered.js";
import { clamped, isInside, isWhole, stepIn, zoomed } from "./window.js";

export const root = document.getElementById("case");
export const data = JSON.parse(document.getElementById("case-data").textContent);
export const items = data.items;
export const byUid = new Map(items.map((item, index) => [item.u, index]));
export const state = { selected: -1, window: [0, 1], hits: null };

// Events: select, window, hover, search.
export const { on, tell } = createEvents();
export const remembered = rememberedUnder("case");
export const find = (selector) => root.querySelector(selector);
export const selectedItem = () => (state.selected < 0 ? null : items[state.selected]);
export const whole = () => isWhole(state.window);
export const inWindow = (item) => isInside(item, state.window);

// Only ids travel in the address: what the page was opened with, the timeline (unless it is the
// default one), the evaluation whose pairs are drawn, and the occurrence.
function address(uid) {
  const parameters = new URLSearchParams(root.dataset.query || "");
  if (root.dataset.timeline !== root.dataset.default) parameters.set("t", root.dataset.timeline);
  if (root.dataset.evaluation) {
    parameters.set("e", root.dataset.evaluation);
    parameters.set("b", root.dataset.basis);
  }
  if (uid) parameters.set("o", uid);
  const query = parameters.toString();
  return root.dataset.case + (query ? `?${query}` : "");
}

export function select(index, from) {
  if (index === state.selected || index >= items.length) return;
  state.selected = index;
  const item = selectedItem();
  history.replaceState(null, "", address(item?.u));
  tell("select", item, from);
}

export function selectUid(uid, from) {
  if (byUid.has(uid)) select(byUid.get(uid), from);
}

export function setWindow(start, end) {
  const next = clamped(start, end);
  if (Math.abs(next[0] - state.window[0]) < 1e-4 && Math.abs(next[1] - state.window[1]) < 1e-4) {
    return;
  }
  state.window = next;
  tell("window", next);
}

export function zoom(factor) {
  const item = selectedItem();
  const centre = item && inWindow(item) ? item.x : undefined;
  setWindow(...zoomed(state.window, factor, centre));
}

let isHidden = () => false;
export const passOver = (test) => (isHidden = test);

// Goes through `order` (indices of items) from the selected one, or to its first with `fromStart`;
// what is filtered away is passed over.
export function step(order, direction, from, fromStart = false) {
  const shown = order.filter((index) => inWindow(items[index]) && !isHidden(index));
  if (!shown.length) return;
  select(stepIn(shown, state.selected, direction, fromStart), from);
}

// The largest change first; then on from there, until something else is
// selected.
let walking = false;
export const stepByShift = (direction) => step(byShift, direction, "shift", !walking);
on("select", (_, from) => (walking = from === "shift"));

export const inNote = items.map((_, index) => index);
export const inTime = inNote.filter((i) => items[i].x !== undefined).sort((a, b) =>
  items[a].t - items[b].t || a - b
);
// Changes by a row of the record, and all beyond tolerance; a year more or less in a far past is
// not among them.
const changed = (item) => item.d && (item.f || item.s === "moved" || item.s === "differs");
export const byShift = inNote.filter((i) => changed(items[i])).sort((a, b) =>
  Math.abs(items[b].d) - Math.abs(items[a].d) || a - b
);

export const statusWords = {
  explicit: "stated in the note",
  inferred: "inferred from the note",
  moved: "moved by evidence",
  unplaced: "not placed",
  unspecified: "basis not given",
};
export const momentWords = (item) => (item.c ? `${item.w} (${item.c})` : item.w);
