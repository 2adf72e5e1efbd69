import assert from "node:assert/strict";
import { indexed, levels, moved, pieces, tidied, wordAt } from "../../static/js/authoring/text.js";

const AWKWARD = ["", "ab\r\n\t", "🫀é\u0301שלום", "👩\u200d⚕\ufe0f x", "1.5 🫀🫀 mg/dL"];

Deno.test("offsets are code points for all characters", () => {
  for (const text of AWKWARD) {
    const points = [...text];
    const note = indexed(text);
    assert.equal(note.length, points.length);
    for (let at = 0; at < points.length; at += 1) {
      assert.equal(note.slice(at, at + 1), points[at]);
      assert.equal(note.points(note.units(at)), at);
    }
    assert.equal(note.slice(0, points.length), text);
  }
});

const WORDS = [
  ["INR 1.5, on 10/12", ["INR", "1.5", "on", "10/12"]],
  ["patient's follow-up (day 3)", ["patient's", "follow-up", "day", "3"]],
  ["🫀 e\u0301tat שלום.", ["🫀", "e\u0301tat", "שלום"]],
  ["SpO2 92%\r\n\r\nRA", ["SpO2", "92%", "RA"]],
];
for (const [text, words] of WORDS) {
  Deno.test(`words of "${text.replace(/\s+/gu, " ")}"`, () => {
    const note = indexed(text);
    assert.deepEqual(note.words.map(({ start, end }) => note.slice(start, end)), words);
  });
}

const SELECTED = [
  [" fell \r\n", 0, 8, "fell"],
  ["e\u0301tat", 0, 1, "e\u0301"],
  ["👩\u200d⚕", 0, 1, "👩\u200d⚕"],
  ["ae\u0301", 2, 3, "e\u0301"],
  ["\t \r\n", 0, 4, null],
];
for (const [text, start, end, kept] of SELECTED) {
  Deno.test(`a selection of ${JSON.stringify(text)} keeps ${JSON.stringify(kept)}`, () => {
    const note = indexed(text);
    const span = tidied(note, start, end);
    assert.equal(span && note.slice(span.start, span.end), kept);
  });
}

Deno.test("edges move by words and stop at the last one", () => {
  const note = indexed("🫀 Fell at home.");
  const span = { start: 2, end: 6 };
  assert.deepEqual(moved(note, span, "end", true), { start: 2, end: 9 });
  assert.deepEqual(moved(note, span, "start", true), { start: 0, end: 6 });
  assert.equal(moved(note, span, "end", false), null);
  assert.equal(moved(note, span, "start", false), null);
});

Deno.test("the word at a place is the first that ends after it, or the last", () => {
  const note = indexed("Fell at home.");
  assert.deepEqual([0, 3, 4, 7, 12].map((point) => wordAt(note, point)), [0, 0, 1, 2, 2]);
});

const SPANS = [
  { uid: "a", start: 0, end: 6 },
  { uid: "b", start: 2, end: 4 },
  { uid: "c", start: 5, end: 9 },
];

Deno.test("pieces name every span over them, the shortest first", () => {
  const found = pieces(0, 10, SPANS).map((piece) => [
    piece.start,
    piece.end,
    piece.spans.map((span) => span.uid).join(""),
  ]);
  assert.deepEqual(found, [
    [0, 2, "a"],
    [2, 4, "ba"],
    [4, 5, "a"],
    [5, 6, "ca"],
    [6, 9, "c"],
    [9, 10, ""],
  ]);
});

Deno.test("spans that overlap share no line", () => {
  assert.deepEqual(Object.fromEntries(levels(SPANS)), { b: 0, c: 0, a: 1 });
});
