// The one state of the author page: what the server has, what waits to be saved, and what is selected. Note, list and form listen.
// The draft lives in this page's memory alone: nothing of a note or a timeline is put into the browser's storage.
window.AuthorPage = (() => {
  "use strict";
  const root = document.getElementById("authoring");
  const stored = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = { ...stored("authoring-data"), ...stored("authoring-layout") };
  const note = window.AuthorText.indexed(stored("authoring-note"));
  const listeners = {};
  const state = {
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
  let view = new Map();
  let made = 0;

  const on = (name, listener) => (listeners[name] ??= []).push(listener);
  const tell = (name, ...values) => (listeners[name] ?? []).forEach((listener) => listener(...values));
  const token = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

  // What the page shows: the server's document with the waiting edits laid over it.
  function overlay(shown, edit) {
    const { kind, uid } = edit;
    if (kind === "add") shown.set(edit.made, { ...BLANK, ...edit.values, ...edit.hint, uid: edit.made, waiting: true });
    else if (kind === "change" && shown.has(uid)) shown.set(uid, { ...shown.get(uid), ...timed(edit.values), ...edit.hint, waiting: true });
    else if (kind === "remove") shown.delete(uid);
    else for (const one of edit.uids ?? [uid]) if (shown.has(one)) shown.set(one, { ...shown.get(one), waiting: true, busy: true });
  }
  const BLANK = {
    mention: "", polarity: "present", placed: false, time: null, lower: null, upper: null, known: false, context: [], rows: [],
    entered: "", reason: "", words: "", clock: "", bounds: "",
  };

  // A time that the server has not read yet: shown as it was typed.
  function timed(values) {
    if (values.time_text === undefined) return values;
    const { time_text: entered, ...rest } = values;
    return { ...rest, placed: true, entered, unread: true };
  }

  function rebuilt() {
    view = new Map(state.document);
    for (const edit of state.pending) overlay(view, edit);
    for (const uid of state.ticked) if (!view.has(uid)) state.ticked.delete(uid);
    if (state.selected && !view.has(state.selected)) {
      state.selected = null;
      tell("select", null, "gone");
    }
    tell("document");
    resume();
  }

  // Puts an edit into the queue. A change of the same fields that nobody has tried to send yet is folded into one.
  function edit(kind, what = {}) {
    if (state.locked) return null;
    // What is typed, or still being read, belongs before an edit that makes other occurrences of these.
    if (kind === "split" || kind === "merge") tell("reshaping");
    const last = state.pending.at(-1);
    if (kind === "change" && last && last.kind === "change" && last.uid === what.uid && !last.tried && foldable(last.values, what.values)) {
      Object.assign(last, { values: { ...last.values, ...what.values }, hint: { ...last.hint, ...what.hint } });
    } else {
      const id = kind === "add" ? `new-${(made += 1)}` : undefined;
      state.pending.push({ kind, token: token(), made: id, ...what });
    }
    rebuilt();
    tell("queued");
    return state.pending.at(-1);
  }
  const foldable = (before, after) => Object.keys(after).every((name) => name in before);

  // A change to an occurrence that is being split or merged waits until that is answered.
  function change(uid, values, hint) {
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
  function saved(answer) {
    const [edit] = state.pending.splice(0, 1);
    const fresh = answer.changed.filter((o) => !state.document.has(o.uid)).map((o) => o.uid);
    for (const uid of answer.removed) state.document.delete(uid);
    for (const occurrence of answer.changed) state.document.set(occurrence.uid, occurrence);
    Object.assign(state, { revision: answer.revision, canUndo: answer.can_undo, canRedo: answer.can_redo });
    if (edit.kind === "add") renamed(edit.made, fresh[0] ?? answer.changed[0].uid);
    rebuilt();
    if (["split", "merge", "undo", "redo"].includes(edit.kind)) {
      const next = edit.uid ?? edit.uids?.[0] ?? answer.changed[0]?.uid;
      if (next) select(next, edit.kind);
      tell("said", edit.kind, answer);
    }
  }

  // An occurrence that was made here has got its identifier: what waits for it is told.
  function renamed(before, after) {
    names.set(before, after);
    for (const edit of state.pending) {
      if (edit.uid === before) edit.uid = after;
      if (edit.uids) edit.uids = edit.uids.map((uid) => (uid === before ? after : uid));
      if (edit.values?.context) edit.values.context = edit.values.context.map((uid) => (uid === before ? after : uid));
    }
    if (state.ticked.delete(before)) state.ticked.add(after);
    if (state.selected === before) {
      state.selected = after;
      tell("renamed", before, after);
    }
  }

  function replaced(occurrences, revision) {
    state.document = new Map(occurrences.map((o) => [o.uid, o]));
    state.revision = revision;
  }

  // What has been typed into the form belongs to the occurrence that is left: it is taken over first.
  function select(wanted, from) {
    const uid = names.get(wanted) ?? wanted;
    if (uid === state.selected) return;
    before.forEach((listener) => listener());
    state.selected = uid;
    tell("select", uid ? view.get(uid) : null, from);
  }

  function tick(uid, on) {
    state.ticked[on ? "add" : "delete"](uid);
    tell("ticked");
  }

  function pick(span, from) {
    state.picked = span;
    tell("pick", span, from);
  }

  const inNote = () => [...view.values()].sort((a, b) => (a.start ?? Infinity) - (b.start ?? Infinity) || (a.end ?? 0) - (b.end ?? 0));
  const place = (o) => (o.placed ? (o.time === null ? 1 : 0) : 2);
  const inTime = () => inNote().sort((a, b) => place(a) - place(b) || (a.time ?? 0) - (b.time ?? 0));
  const ordered = () => (state.inTime ? inTime() : inNote());

  function step(direction, from, wanted = () => true) {
    const order = ordered();
    const at = order.findIndex((o) => o.uid === state.selected);
    for (let n = 1; n <= order.length; n += 1) {
      const next = order[(((at < 0 && direction < 0 ? 0 : at) + n * direction) % order.length + order.length) % order.length];
      if (wanted(next) && next.uid !== state.selected) return select(next.uid, from);
    }
    return undefined;
  }

  // How a time was obtained, in the signs of the case page; what is still to be placed has one of its own.
  function status(o) {
    if (!o.placed) return "todo";
    if (o.time === null) return o.unread ? "inferred" : "unplaced";
    if (o.rows.length) return "moved";
    return o.known ? "explicit" : "inferred";
  }
  function momentWords(o) {
    if (!o.placed) return "to place";
    if (o.unread) return `“${o.entered}”, read once saved`;
    if (o.time !== null) return o.words;
    return o.bounds ? `N/A, ${o.bounds}` : "N/A";
  }

  const element = (name, className = "", text = "") => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };
  const announcer = root.querySelector("[data-announce]");
  function announce(words) {
    announcer.textContent = announcer.textContent === words ? `${words}\u00A0` : words;
  }

  const remembered = {
    get(key, otherwise) {
      try {
        return JSON.parse(localStorage.getItem(`authoring.${key}`)) ?? otherwise;
      } catch {
        return otherwise;
      }
    },
    set(key, value) {
      try {
        localStorage.setItem(`authoring.${key}`, JSON.stringify(value));
      } catch {
        // Not remembered where storage is forbidden.
      }
    },
  };
  view = new Map(state.document);

  return {
    root, data, note, state, on, tell, edit, change, saved, replaced, rebuilt, select, step, tick, pick, status,
    momentWords, element, announce, remembered, inNote, ordered,
    view: () => view,
    current: (uid) => names.get(uid) ?? uid,
    beforeSelect: (listener) => before.push(listener),
    selected: () => (state.selected ? view.get(state.selected) : null),
    find: (selector) => root.querySelector(selector),
  };
})();
