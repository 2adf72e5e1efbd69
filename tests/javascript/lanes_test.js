import assert from "node:assert/strict";
import { groupsOf } from "../../static/js/case/lanes/chips.js";
import { buildLanes, valueAt, visiblePart } from "../../static/js/case/lanes/model.js";
import { freeBeside, pack, together } from "../../static/js/case/lanes/pack.js";
import { rankOf } from "../../static/js/case/lanes/rank.js";
import { createScale } from "../../static/js/case/lanes/scale.js";

// A repeatable sequence of numbers from 0 to 1.
function numbers(seed) {
  let state = seed;
  return () => (state = (state * 16807) % 2147483647) / 2147483647;
}

function someMarks(count, width, seed) {
  const next = numbers(seed);
  return Array.from({ length: count }, (_, n) => ({
    id: String(n),
    n,
    x: Math.round(next() * width),
    width: Math.round(20 + next() * 160),
    rank: Math.round(next() * 4),
  }));
}

// The stretch that a placed mark takes with its words.
function taken(mark, side) {
  return [
    mark.x - 7 - (side === "left" ? mark.width : 0),
    mark.x + 7 + (side === "right" ? mark.width : 0),
  ];
}

Deno.test("no words and marks overlap, none is lost, and the order of the input is no matter", () => {
  for (const [count, most] of [[3, 2], [40, 4], [300, 5], [300, Infinity]]) {
    const marks = someMarks(count, 700, count);
    const found = pack(marks, { width: 700, most });
    assert.deepEqual(pack([...marks].reverse(), { width: 700, most }), found);
    const rows = new Map();
    for (const { id, row, side } of found.placed) {
      const mark = marks[Number(id)];
      const [from, to] = taken(mark, side);
      assert.ok(!side || (from >= -7 && to <= 707), `${id} leaves the drawing`);
      for (const other of rows.get(row) ?? []) {
        assert.ok(to <= other[0] || from >= other[1], `${id} overlaps in row ${row}`);
      }
      rows.set(row, [...(rows.get(row) ?? []), [from, to]]);
    }
    assert.ok(found.rows <= most);
    const shown = [...found.placed.map((one) => one.id), ...found.rest.flatMap((g) => g.ids)];
    assert.deepEqual(shown.sort(), marks.map((mark) => mark.id).sort());
    if (most === Infinity) assert.deepEqual(found.rest, []);
  }
});

Deno.test("the words of the highest rank are written", () => {
  const same = { x: 100, width: 80 };
  const marks = [{ ...same, id: "a", n: 1, rank: 0 }, { ...same, id: "b", n: 2, rank: 3 }];
  const { placed } = pack(marks, { width: 400, most: 1 });
  assert.deepEqual(placed.map(({ id, row, side }) => [id, row, side]), [["b", 0, "right"]]);
});

Deno.test("at the right edge words are on the left", () => {
  const mark = { id: "a", n: 1, rank: 0, x: 395, width: 80 };
  assert.equal(pack([mark], { width: 400, most: 1 }).placed[0].side, "left");
});

Deno.test("bounds are drawn where they cross no words", () => {
  const at = [93, 180];
  const mark = { x: 100, side: "right", at };
  assert.deepEqual(freeBeside([60, 140], mark, [at]), [60, 100]);
  assert.equal(freeBeside([60, 140], mark, [at, [20, 70]]), null);
  assert.deepEqual(freeBeside([60, 140], { x: 100, at }, [at]), [60, 140]);
});

Deno.test("marks near each other are counted together", () => {
  const at = (x, n) => ({ id: String(n), n, x });
  const found = together([at(100, 3), at(10, 1), at(20, 2)]);
  assert.deepEqual(found.map((group) => group.ids), [["1", "2"], ["3"]]);
  assert.equal(found[0].x, 15);
});

Deno.test("a selection comes first, then hits, then what the record changed", () => {
  const far = { s: "moved", f: 1 };
  const plain = { s: "inferred" };
  assert.ok(rankOf(plain, { selected: true }) > rankOf(far, { hit: true }));
  assert.ok(rankOf(plain, { hit: true }) > rankOf(far));
  assert.ok(rankOf(far) > rankOf({ s: "explicit" }));
  assert.ok(rankOf({ s: "explicit" }) > rankOf({ s: "explicit" }, { first: false }));
  assert.ok(rankOf({ s: "explicit", a: 1 }) < rankOf(plain));
});

const DATA = {
  lanes: [{ key: "medication", label: "Medications", count: 4 }],
  items: [
    { u: "a", n: 1, l: 0, x: 0.2, k: "vancomycin" },
    { u: "b", n: 2, l: 0, x: 0.3, k: "reversal agent" },
    { u: "c", n: 3, l: 0, x: 0.4, k: "aspirin" },
    { u: "d", n: 4, l: 0, k: "vancomycin" },
  ],
};
const TRACKS = [
  {
    lane: "medication",
    keys: ["vancomycin"],
    runs: [[0.5, 0.6]],
    classes: ["Antibiotics"],
    named: true,
  },
  { lane: "medication", keys: ["andexanet alfa"], uids: ["b"], runs: [[0.3, 0.3]], named: true },
  { lane: "medication", keys: ["cefepime"], runs: [[0.1, 0.9]], classes: ["Antibiotics"] },
  { lane: "lab", keys: ["sodium"], points: [[0, 1]], named: true },
];
const names = (part) => part.tracks.map((track) => track.keys[0]);

Deno.test("occurrences are on the track that they name or cite", () => {
  const [lane] = buildLanes(DATA, TRACKS);
  assert.deepEqual(lane.tracks.map((t) => t.items.map((i) => i.u)), [["a"], ["b"], []]);
  assert.deepEqual(lane.loose.map((item) => item.u), ["c"]);
});

Deno.test("a class shows all of its drugs, a window what is in it", () => {
  const [lane] = buildLanes(DATA, TRACKS);
  const all = { window: [0, 1], group: "", keys: null };
  assert.deepEqual(names(visiblePart(lane, all)), ["andexanet alfa", "vancomycin"]);
  assert.equal(visiblePart(lane, all).hidden, 1);
  assert.deepEqual(names(visiblePart(lane, { ...all, full: true })), [
    "cefepime",
    "andexanet alfa",
    "vancomycin",
  ]);
  const group = visiblePart(lane, { ...all, group: "Antibiotics", keys: new Set(["a"]) });
  assert.deepEqual(names(group), ["cefepime", "vancomycin"]);
  assert.deepEqual(group.loose, []);
  assert.deepEqual(names(visiblePart(lane, { ...all, window: [0.7, 1] })), []);
  assert.deepEqual(groupsOf({ Antiplatelets: ["c"] }, TRACKS), {
    named: ["Antiplatelets"],
    further: ["Antibiotics"],
  });
});

Deno.test("a value between two points of a curve", () => {
  const points = [[0.2, 10], [0.4, 20], [0.4, 30]];
  assert.equal(valueAt(points, 0.1), 10);
  assert.equal(valueAt(points, 0.3), 15);
  assert.equal(valueAt(points, 0.9), 30);
});

Deno.test("shares become pixels and back", () => {
  const scale = createScale([0.25, 0.75], 100, 400);
  assert.equal(scale.of(0.5), 300);
  assert.equal(scale.back(300), 0.5);
  assert.equal(scale.held(0), 100);
  assert.equal(scale.shows(0.1, 0.3), true);
  assert.equal(scale.shows(0.8), false);
});
