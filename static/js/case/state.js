// The state of the case page: the selected occurrence and the time window. Note, plot, table and
// panel listen to it.
import { createEvents } from "../common/events.js";
import { folded } from "../common/filter.js";
import { rememberedUnder } from "../common/remembered.js";
import { chosenOf, momentText } from "../common/moment.js";
import { clamped, isInside, isWhole, stepIn, zoomed } from "./window.js";

export const root = document.getElementById("case");
export const data = JSON.parse(document.getElementById("case-data").textContent);
export const items = data.items;
// What a search reads of each occurrence: its words and the classes of its drug.
const classesOf = new Map();
for (const [name, uids] of Object.entries(data.classes ?? {})) {
  for (const uid of uids) classesOf.set(uid, [...classesOf.get(uid) ?? [], name]);
}
export const searched = items.map((item) =>
  folded([item.m, ...classesOf.get(item.u) ?? []].join(" · "))
);
export const byUid = new Map(items.map((item, index) => [item.u, index]));
export const state = { selected: -1, window: [0, 1], hits: null, asOf: null };

// Events: select, window, hover, search, asOf, tab, chain, answered, print, reveal (a place of the note).
export const { on, emit } = createEvents();
export const remembered = rememberedUnder("case");
export const find = (selector) => root.querySelector(selector);
export const selectedItem = () => (state.selected < 0 ? null : items[state.selected]);
export const whole = () => isWhole(state.window);
export const inWindow = (item) => isInside(item, state.window);

// The address has only ids: those that the page was opened with, the timeline (unless it is the
// default), the evaluation whose pairs are drawn, and the occurrence.
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
  emit("select", item, from);
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
  emit("window", next);
}

export function zoom(factor) {
  const item = selectedItem();
  const centre = item && inWindow(item) ? item.x : undefined;
  setWindow(...zoomed(state.window, factor, centre));
}

// What was known of an occurrence at the hour of the slider; "" while it is closed.
export const knownOf = (item) => state.asOf?.states.get(item.u) ?? "";

// The position of an hour of the stay, which is drawn evenly.
export function placeOfHour(hour) {
  const { zero, discharge } = data;
  const length = state.hoursOfStay;
  return discharge === null || !length ? null : zero + (discharge - zero) * hour / length;
}

let isHidden = () => false;
export const passOver = (test) => (isHidden = test);

// Goes through `order` (indices of items) from the selected item, or to the first with `fromStart`.
// Items that a filter hides are skipped.
export function step(order, direction, from, fromStart = false) {
  const shown = order.filter((index) => inWindow(items[index]) && !isHidden(index));
  if (!shown.length) return;
  select(stepIn(shown, state.selected, direction, fromStart), from);
}

// Goes to the largest change first, then to the next ones until another item is selected.
let walking = false;
export const stepByShift = (direction) => step(byShift, direction, "shift", !walking);
on("select", (_, from) => (walking = from === "shift"));

export const inNote = items.map((_, index) => index);
export const inTime = inNote.filter((i) => items[i].x !== undefined).sort((a, b) =>
  items[a].t - items[b].t || a - b
);
// Changes by a row of the record, and changes beyond tolerance. The tolerance grows with the
// distance, so a year in the far past is no change.
const changed = (item) => item.d && (item.f || ["moved", "corrected", "differs"].includes(item.s));
export const byShift = inNote.filter((i) => changed(items[i])).sort((a, b) =>
  Math.abs(items[b].d) - Math.abs(items[a].d) || a - b
);

export const statusWords = {
  explicit: "stated in the note",
  inferred: "inferred from the note",
  moved: "from the record",
  corrected: "corrected by a clinician",
  unplaced: "not placed",
  unspecified: "basis not given",
};
// The note that an occurrence of a chart is in, and the notes that have the same event; "" without
// a chart.
const nameNote = (at) => {
  const { k, w } = data.notes[at];
  return w ? `${k}, ${chosenOf(w)}` : k;
};
export function noteWords(item) {
  if (item.nt === undefined) return "";
  return [nameNote(item.nt), item.nl && `also in ${item.nl.map(nameNote).join("; ")}`]
    .filter(Boolean).join("; ");
}
export const momentWords = (item) => momentText(item.c ?? item.w, item.c ? item.w : "");
