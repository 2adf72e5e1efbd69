// The state of the author page: the server's document, queued edits, and the selection. Note, list
// and form listen to it. The draft is only in this page's memory: no part of a note or a timeline
// is put into the browser's storage.
import { announcerIn } from "../common/dom.js";
import { createEvents } from "../common/events.js";
import { rememberedUnder } from "../common/remembered.js";
import { token } from "../common/token.js";
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

export const { on, emit } = createEvents();
export const remembered = rememberedUnder("authoring");
export const find = (selector) => root.querySelector(selector);
export const announce = announcerIn(find("[data-announce]"));

export function rebuilt() {
  view = viewOf(state.document, state.pending);
  for (const uid of state.ticked) if (!view.has(uid)) state.ticked.delete(uid);
  if (state.selected && !view.has(state.selected)) {
    state.selected = null;
    emit("select", null, "gone");
  }
  emit("document");
  resume();
}

// Adds an edit to the queue. Changes of the same fields are merged until the first is sent.
export function edit(kind, what = {}) {
  if (state.locked) return null;
  // Values that are typed or being parsed must be queued before these occurrences are reshaped.
  if (kind === "split" || kind === "merge") emit("reshaping");
  if (kind !== "change" || !fold(state.pending, what)) {
    const id = kind === "add" ? `new-${(made += 1)}` : undefined;
    state.pending.push({ kind, token: token(), made: id, ...what });
  }
  rebuilt();
  emit("queued");
  return state.pending.at(-1);
}

// A change to an occurrence that is being split or merged waits for the server's answer.
export function change(uid, values, hint) {
  if (!view.has(uid)) return;
  if (view.get(uid).busy) state.deferred.push({ uid, values, hint });
  else edit("change", { uid, values, hint });
}
function resume() {
  for (const { uid, values, hint } of state.deferred.splice(0)) {
    const now = names.get(uid) ?? uid;
    if (view.has(now)) change(now, values, hint);
    else emit("notice", "The last change was not saved: its occurrence was removed.", "error");
  }
}

// Applies the server's answer to the first queued edit.
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
    emit("done", edit.kind, answer);
  }
}

// Replaces the temporary identifier of a new occurrence by its UID.
function renamed(before, after) {
  names.set(before, after);
  renameIn(state.pending, before, after);
  if (state.ticked.delete(before)) state.ticked.add(after);
  if (state.selected === before) {
    state.selected = after;
    emit("renamed", before, after);
  }
}

export function replaced(occurrences, revision) {
  state.document = new Map(occurrences.map((o) => [o.uid, o]));
  state.revision = revision;
}

// Values typed into the form belong to the previous occurrence, so they are saved first.
export function select(wanted, from) {
  const uid = names.get(wanted) ?? wanted;
  if (uid === state.selected) return;
  before.forEach((listener) => listener());
  state.selected = uid;
  emit("select", uid ? view.get(uid) : null, from);
}

export function tick(uid, on) {
  state.ticked[on ? "add" : "delete"](uid);
  emit("ticked");
}

export function pick(span, from) {
  state.picked = span;
  emit("pick", span, from);
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

// How a time was obtained, in the marks of the case page; occurrences to place have their own.
export function status(o) {
  if (!o.placed) return "todo";
  if (o.time === null) return o.unread ? "inferred" : "unplaced";
  if (o.rows.length) return "moved";
  return o.known ? "explicit" : "inferred";
}
export function momentWords(o) {
  if (!o.placed) return "to place";
  if (o.unread) return `“${o.entered}”, not saved yet`;
  if (o.time !== null) return o.words;
  return o.bounds ? `N/A, ${o.bounds}` : "N/A";
}

export const currentView = () => view;
export const current = (uid) => names.get(uid) ?? uid;
export const beforeSelect = (listener) => before.push(listener);
export const selected = () => (state.selected ? view.get(state.selected) : null);
