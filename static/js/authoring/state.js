// The one state of the author page: what the server has, what waits to be saved, and what is
// selected. Note, list and form listen. The draft lives in this page's memory alone: nothing of a
// note or a timeline is put into the browser's storage.
import { announcerIn } from "../shared/dom.js";
import { createEvents } from "../shared/events.js";
import { rememberedUnder } from "../shared/remembered.js";
import { token } from "../shared/token.js";
import { fold, renameIn, viewOf } from "./edits.js";
import { indexed } from "./text.js";

export const root = document.getElementById("authoring");
const stored = (id) => JSON.parse(document.getElementById(id).textContent);
export const data = { ...stored("authoring-data"), ...stored("authoring-layout") };
export const note = indexed(stored("authoring-note"));
export const state = {
  document: new Map(data.occurrences.map((o) => [o.uid, o])),
  pending: [],
  deferred: [],
  revision: data.revision,
  canUndo: data.can_undo,
  canRedo: data.can_redo,
  selected: null,
  ticked: new Set(),
  picked: null,
  locked: data.state !== "draft",
  inTime: false,
};
const before = [];
const names = new Map();
let view = new Map(state.document);
let made = 0;

export const { on, tell } = createEvents();
export const remembered = rememberedUnder("authoring");
export const find = (selector) => root.querySelector(selector);
export const announce = announcerIn(find("[data-announce]"));

export function rebuilt() {
  view = viewOf(state.document, state.pending);
  for (const uid of state.ticked) if (!view.has(uid)) state.ticked.delete(uid);
  if (state.selected && !view.has(state.selected)) {
    state.selected = null;
    tell("select", null, "gone");
  }
  tell("document");
  resume();
}

// Puts an edit into the queue. A change of the same fields that nobody has tried to send yet is
// folded into one.
export function edit(kind, what = {}) {
  if (state.locked) return null;
  // What is typed, or still being read, belongs before an edit that makes other occurrences of
  // these.
  if (kind === "split" || kind === "merge") tell("reshaping");
  if (kind !== "change" || !fold(state.pending, what)) {
    const id = kind === "add" ? `new-${(made += 1)}` : undefined;
    state.pending.push({ kind, token: token(), made: id, ...what });
  }
  rebuilt();
  tell("queued");
  return state.pending.at(-1);
}

// A change to an occurrence that is being split or merged waits until that is answered.
export function change(uid, values, hint) {
  if (!view.has(uid)) return;
  if (view.get(uid).busy) state.deferred.push({ uid, values, hint });
  else edit("change", { uid, values, hint });
}
function resume() {
  for (const { uid, values, hint } of state.deferred.splice(0)) {
    const now = names.get(uid) ?? uid;
    if (view.has(now)) change(now, values, hint);
    else tell("notice", "The last change was not saved: its occurrence is gone.", "error");
  }
}

// What the server answered to the first waiting edit.
export function saved(answer) {
  const [edit] = state.pending.splice(0, 1);
  const fresh = answer.changed.filter((o) => !state.document.has(o.uid)).map((o) => o.uid);
  for (const uid of answer.removed) state.document.delete(uid);
  for (const occurrence of answer.changed) state.document.set(occurrence.uid, occurrence);
  Object.assign(state, {
    revision: answer.revision,
    canUndo: answer.can_undo,
    canRedo: answer.can_redo,
  });
  if (edit.kind === "add") renamed(edit.made, fresh[0] ?? answer.changed[0].uid);
  rebuilt();
  if (["split", "merge", "undo", "redo"].includes(edit.kind)) {
    const next = edit.uid ?? edit.uids?.[0] ?? answer.changed[0]?.uid;
    if (next) select(next, edit.kind);
    tell("said", edit.kind, answer);
  }
}

// A new occurrence has its identifier: publish it to those who wait for it.
function renamed(before, after) {
  names.set(before, after);
  renameIn(state.pending, before, after);
  if (state.ticked.delete(before)) state.ticked.add(after);
  if (state.selected === before) {
    state.selected = after;
    tell("renamed", before, after);
  }
}

export function replaced(occurrences, revision) {
  state.document = new Map(occurrences.map((o) => [o.uid, o]));
  state.revision = revision;
}

// What has been typed into the form belongs to the occurrence that is left: it is taken over first.
export function select(wanted, from) {
  const uid = names.get(wanted) ?? wanted;
  if (uid === state.selected) return;
  before.forEach((listener) => listener());
  state.selected = uid;
  tell("select", uid ? view.get(uid) : null, from);
}

export function tick(uid, on) {
  state.ticked[on ? "add" : "delete"](uid);
  tell("ticked");
}

export function pick(span, from) {
  state.picked = span;
  tell("pick", span, from);
}

export const inNote = () =>
  [...view.values()].sort((a, b) =>
    (a.start ?? Infinity) - (b.start ?? Infinity) || (a.end ?? 0) - (b.end ?? 0)
  );
const place = (o) => (o.placed ? (o.time === null ? 1 : 0) : 2);
const inTime = () => inNote().sort((a, b) => place(a) - place(b) || (a.time ?? 0) - (b.time ?? 0));
export const ordered = () => (state.inTime ? inTime() : inNote());

export function step(direction, from, wanted = () => true) {
  const order = ordered();
  const at = order.findIndex((o) => o.uid === state.selected);
  for (let n = 1; n <= order.length; n += 1) {
    const next = order[
      (((at < 0 && direction < 0 ? 0 : at) + n * direction) % order.length + order.length) %
      order.length
    ];
    if (wanted(next) && next.uid !== state.selected) return select(next.uid, from);
  }
  return undefined;
}

// How a time was obtained, in the signs of the case page; what is still to be placed has one of its
// own.
export function status(o) {
  if (!o.placed) return "todo";
  if (o.time === null) return o.unread ? "inferred" : "unplaced";
  if (o.rows.length) return "moved";
  return o.known ? "explicit" : "inferred";
}
export function momentWords(o) {
  if (!o.placed) return "to place";
  if (o.unread) return `“${o.entered}”, read once saved`;
  if (o.time !== null) return o.words;
  return o.bounds ? `N/A, ${o.bounds}` : "N/A";
}

export const currentView = () => view;
export const current = (uid) => names.get(uid) ?? uid;
export const beforeSelect = (listener) => before.push(listener);
export const selected = () => (state.selected ? view.get(state.selected) : null);
