import assert from "node:assert/strict";
import {
  canRedo,
  canUndo,
  fold,
  renameIn,
  touchedBy,
  viewOf,
} from "../../static/js/authoring/edits.js";

const stored = () =>
  new Map([["a", { uid: "a", mention: "fever" }], ["b", { uid: "b", mention: "cough" }]]);
const change = (uid, values, more = {}) => ({ kind: "change", uid, values, ...more });

Deno.test("without edits the page shows the server's document", () => {
  assert.deepEqual(viewOf(stored(), []), stored());
});

Deno.test("a change is shown at once, and marked as not saved", () => {
  const document = stored();
  const view = viewOf(document, [change("a", { mention: "high fever" })]);
  assert.deepEqual(view.get("a"), { uid: "a", mention: "high fever", waiting: true });
  assert.deepEqual(document, stored(), "the server's document is not touched");
});

Deno.test("what the page knows of a change covers what it sends", () => {
  const edit = change("a", { time_text: "2 h" }, { hint: { time: 2, unread: false } });
  const { time, placed, unread, entered } = viewOf(stored(), [edit]).get("a");
  assert.deepEqual([time, placed, unread, entered], [2, true, false, "2 h"]);
});

Deno.test("a time that nobody has read is shown as typed", () => {
  const { entered, placed, unread, time_text } = viewOf(stored(), [
    change("a", { time_text: "two hours in" }),
  ]).get("a");
  assert.deepEqual([entered, placed, unread, time_text], ["two hours in", true, true, undefined]);
});

Deno.test("an added occurrence has every field", () => {
  const added = { kind: "add", made: "new-1", values: { mention: "rash", start: 3, end: 7 } };
  const { uid, mention, placed, context, waiting } = viewOf(stored(), [added]).get("new-1");
  assert.deepEqual([uid, mention, placed, context, waiting], ["new-1", "rash", false, [], true]);
});

Deno.test("edits apply in order: removed, then changed, is removed", () => {
  const view = viewOf(stored(), [{ kind: "remove", uid: "a" }, change("a", { mention: "x" })]);
  assert.deepEqual([...view.keys()], ["b"]);
});

Deno.test("occurrences that are merged or split are busy until the server answers", () => {
  const merged = viewOf(stored(), [{ kind: "merge", uids: ["a", "b"] }]);
  assert.deepEqual([...merged.values()].map((o) => o.busy), [true, true]);
  const split = viewOf(stored(), [{ kind: "split", uid: "a", parts: [] }]);
  assert.deepEqual([...split.values()].map((o) => o.busy), [true, undefined]);
});

Deno.test("undo and redo show nothing before the server answers", () => {
  assert.deepEqual(viewOf(stored(), [{ kind: "undo" }, { kind: "redo" }]), stored());
});

Deno.test("a change of the same field is folded into the one that waits", () => {
  const edits = [change("a", { mention: "f" }, { token: "t" })];
  assert.equal(fold(edits, change("a", { mention: "fe" }, { hint: { words: "w" } })), true);
  assert.deepEqual(edits, [
    change("a", { mention: "fe" }, { token: "t", hint: { words: "w" } }),
  ]);
});

const APART = {
  "another occurrence": [change("b", { mention: "x" })],
  "another field": [change("a", { reason: "x" })],
  "an edit that was sent": [change("a", { mention: "x" }, { tried: true })],
  "an edit of another kind": [{ kind: "add", uid: "a", values: { mention: "x" } }],
  "an edit that is not the last": [change("a", { mention: "x" }), { kind: "undo" }],
  "nothing that waits": [],
};
for (const [name, edits] of Object.entries(APART)) {
  Deno.test(`a change is not folded into ${name}`, () => {
    const before = structuredClone(edits);
    assert.equal(fold(edits, change("a", { mention: "y" })), false);
    assert.deepEqual(edits, before);
  });
}

Deno.test("edits follow an occurrence to its identifier", () => {
  const edits = [
    change("new-1", { mention: "x" }),
    { kind: "merge", uids: ["a", "new-1"] },
    change("b", { context: ["new-1", "a"] }),
    { kind: "undo" },
  ];
  renameIn(edits, "new-1", "c");
  assert.deepEqual(edits, [
    change("c", { mention: "x" }),
    { kind: "merge", uids: ["a", "c"] },
    change("b", { context: ["c", "a"] }),
    { kind: "undo" },
  ]);
});

Deno.test("an edit touches one occurrence, several, or none that the page knows", () => {
  assert.deepEqual(touchedBy(change("a", {})), ["a"]);
  assert.deepEqual(touchedBy({ kind: "merge", uids: ["a", "b"] }), ["a", "b"]);
  assert.deepEqual(touchedBy({ kind: "undo" }), []);
});

Deno.test("undo needs a step on the server or in the queue; redo an empty queue", () => {
  const state = { locked: false, canUndo: false, canRedo: true, pending: [] };
  assert.deepEqual([canUndo(state), canRedo(state)], [false, true]);
  const waiting = { ...state, pending: [change("a", {})] };
  assert.deepEqual([canUndo(waiting), canRedo(waiting)], [true, false]);
  const locked = { ...waiting, locked: true, canUndo: true };
  assert.deepEqual([canUndo(locked), canRedo({ ...state, locked: true })], [false, false]);
});
