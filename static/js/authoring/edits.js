// The queue of edits that are not saved yet, and the document with them applied. Has no access to
// the page.

const BLANK = {
  mention: "",
  polarity: "present",
  placed: false,
  time: null,
  lower: null,
  upper: null,
  known: false,
  context: [],
  rows: [],
  entered: "",
  reason: "",
  words: "",
  bounds: "",
};

// The server's document with the queued edits applied: a Map by UID.
export function viewOf(document, edits) {
  const view = new Map(document);
  for (const edit of edits) apply(view, edit);
  return view;
}

function apply(view, edit) {
  const { kind, uid } = edit;
  const merge = (one, values) => view.has(one) && view.set(one, { ...view.get(one), ...values });
  if (kind === "add") {
    view.set(edit.made, { ...BLANK, ...edit.values, ...edit.hint, uid: edit.made, waiting: true });
  } else if (kind === "change") merge(uid, { ...timed(edit.values), ...edit.hint, waiting: true });
  else if (kind === "remove") view.delete(uid);
  else for (const one of edit.uids ?? [uid]) merge(one, { waiting: true, busy: true });
}

// A time that the server has not parsed yet is shown as typed.
function timed(values) {
  if (values.time_text === undefined) return values;
  const { time_text: entered, ...rest } = values;
  return { ...rest, placed: true, entered, unread: true };
}

// Merges a change into the last edit of the queue if that one changes the same fields of the same
// occurrence and was not sent yet. Returns whether it did.
export function fold(edits, { uid, values, hint }) {
  const last = edits.at(-1);
  if (last?.kind !== "change" || last.uid !== uid || last.tried) return false;
  if (!Object.keys(values).every((name) => name in last.values)) return false;
  last.values = { ...last.values, ...values };
  last.hint = { ...last.hint, ...hint };
  return true;
}

// The server has assigned the UID of an occurrence made on this page: queued edits use it.
export function renameIn(edits, before, after) {
  const renamed = (uid) => (uid === before ? after : uid);
  for (const edit of edits) {
    if (edit.uid) edit.uid = renamed(edit.uid);
    if (edit.uids) edit.uids = edit.uids.map(renamed);
    if (edit.values?.context) edit.values.context = edit.values.context.map(renamed);
  }
}

// The UIDs that an edit changes; none for undo and redo, because only the server knows them.
export const touchedBy = (edit) => edit.uids ?? [edit.uid].filter(Boolean);

// Queued edits can be undone too: the undo follows them in the queue.
export const canUndo = (state) => !state.locked && (state.canUndo || state.pending.length > 0);
export const canRedo = (state) => !state.locked && state.canRedo && !state.pending.length;
