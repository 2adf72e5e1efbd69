import assert from "node:assert/strict";
import {
  clamped,
  fittingTicks,
  isInside,
  isWhole,
  nearestTick,
  stepIn,
  zoomed,
} from "../../static/js/case/window.js";

const near = (a, b) => {
  a.forEach((one, at) => assert.ok(Math.abs(one - b[at]) < 1e-12, `[${a}] is not [${b}]`));
};

Deno.test("an item without a position is only in the whole window", () => {
  assert.equal(isWhole([0, 1]), true);
  assert.equal(isWhole([0, 0.9]), false);
  assert.equal(isInside({}, [0, 1]), true);
  assert.equal(isInside({}, [0, 0.9]), false);
});

Deno.test("the ends of a window are inside", () => {
  for (const [x, inside] of [[0.2, true], [0.4, true], [0.19, false], [0.41, false]]) {
    assert.equal(isInside({ x }, [0.2, 0.4]), inside);
  }
});

Deno.test("a window is moved to lie within the axis, and keeps its width", () => {
  near(clamped(-0.2, 0.3), [0, 0.5]);
  near(clamped(0.8, 1.1), [0.7, 1]);
  near(clamped(-1, 2), [0, 1]);
});

Deno.test("a window is at least a hundredth wide", () => {
  near(clamped(0.5, 0.5), [0.5, 0.51]);
  near(clamped(0.7, 0.3), [0.7, 0.71]);
});

Deno.test("zooming keeps the centre at its place on the screen", () => {
  near(zoomed([0, 1], 0.5), [0.25, 0.75]);
  // 0.2 is a fifth from the left of [0, 1], and a fifth from the left of [0.1, 0.6].
  near(zoomed([0, 1], 0.5, 0.2), [0.1, 0.6]);
  near(zoomed([0.1, 0.6], 2, 0.2), [0, 1]);
});

Deno.test("stepping goes around both ends", () => {
  assert.equal(stepIn([4, 7, 9], 7, 1), 9);
  assert.equal(stepIn([4, 7, 9], 9, 1), 4);
  assert.equal(stepIn([4, 7, 9], 4, -1), 9);
});

Deno.test("without a current element stepping begins at the end it comes from", () => {
  assert.equal(stepIn([4, 7, 9], -1, 1), 4);
  assert.equal(stepIn([4, 7, 9], -1, -1), 9);
});

Deno.test("stepping from the start goes to the first element, then on", () => {
  assert.equal(stepIn([4, 7, 9], 7, 1, true), 4);
  assert.equal(stepIn([4, 7, 9], 7, -1, true), 4);
  assert.equal(stepIn([4, 7, 9], 4, 1, true), 7);
});

Deno.test("the nearest tick says a position; the first of two that are as near", () => {
  const ticks = [[0, "−1 d", 1], [0.5, "admission", 0], [1, "+1 d", 1]];
  assert.equal(nearestTick(ticks, 0.6)[1], "admission");
  assert.equal(nearestTick(ticks, 0.9)[1], "+1 d");
  assert.equal(nearestTick(ticks, 0.25)[1], "−1 d");
});

// A label of five characters is 33 px wide; two keep their labels if 14 px are between them.
const words = "12345";
const placed = (...positions) => positions.map(([x, rank]) => [x, words, rank]);
const shown = (ticks, more = {}) =>
  fittingTicks(ticks, { window: [0, 1], width: 1000, zero: 0.5, ...more }).map((tick) => tick[0]);

Deno.test("labels that would touch give way to the lower rank", () => {
  assert.deepEqual(shown(placed([0.5, 0], [0.546, 1])), [0.5]);
  assert.deepEqual(shown(placed([0.5, 0], [0.548, 1])), [0.5, 0.548]);
  assert.deepEqual(shown(placed([0.5, 2], [0.52, 1])), [0.52]);
});

Deno.test("among equals the label nearer to admission is shown", () => {
  assert.deepEqual(shown(placed([0.7, 1], [0.69, 1])), [0.69]);
  assert.deepEqual(shown(placed([0.3, 1], [0.31, 1])), [0.31]);
});

Deno.test("ticks outside the window are left out; the others come in order", () => {
  assert.deepEqual(shown(placed([0.9, 1], [0.1, 1], [0.5, 0])), [0.1, 0.5, 0.9]);
  assert.deepEqual(shown(placed([0.9, 1], [0.1, 1]), { window: [0, 0.5] }), [0.1]);
});
