import assert from "node:assert/strict";
import { placeOf, stepFor } from "../../static/js/authoring/scale.js";

// With linear = 1 an hour h bends to log(1 + h): 1 to log 2, 3 to log 4, 7 to log 8.
const ENDS = { zero: 0.25, linear: 1, past: 3, future: 7 };
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

Deno.test("admission and both ends have fixed places", () => {
  near(placeOf(0, ENDS), 0.25);
  near(placeOf(-3, ENDS), 0);
  near(placeOf(7, ENDS), 1);
});

Deno.test("hours between bend logarithmically", () => {
  near(placeOf(-1, ENDS), 0.25 * (1 - 1 / 2));
  near(placeOf(1, ENDS), 0.25 + 0.75 * (1 / 3));
  near(placeOf(3, ENDS), 0.25 + 0.75 * (2 / 3));
});

Deno.test("hours beyond an end stay at the end", () => {
  near(placeOf(-100, ENDS), 0);
  near(placeOf(100, ENDS), 1);
});

Deno.test("an end is the smallest step that covers the hours, or the largest step", () => {
  assert.equal(stepFor(0, [24, 168, 720]), 24);
  assert.equal(stepFor(24, [24, 168, 720]), 24);
  assert.equal(stepFor(25, [24, 168, 720]), 168);
  assert.equal(stepFor(9999, [24, 168, 720]), 720);
});
