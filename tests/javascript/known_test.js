import assert from "node:assert/strict";
import { hourWords, nextChange, stateAt } from "../../static/js/case/known.js";

// The table of tests/unit/cohorts/test_states.py: the state at hour 6.
const STATES = [
  [[4, 4, 5], "known"],
  [[4, 4, 6], "known"],
  [[6, 6, 6], "known"],
  [[4, 4, 6.1], "later"],
  [[4, 4, null], "later"],
  [[7, 7, 5], "not_yet"],
  [[6.1, 9, 5], "not_yet"],
  [[2, 6, 5], "known"],
  [[2, 6.1, 5], "uncertain"],
  [[6, 9, 5], "uncertain"],
  [[2, null, 5], "uncertain"],
  [[null, 5, 5], "known"],
  [[null, 9, 5], "uncertain"],
  [[7, null, 5], "not_yet"],
  [[null, null, 5], "uncertain"],
  [[-2, -2, 0.5], "known"],
];

Deno.test("states at an hour are those of the server", () => {
  for (const [times, state] of STATES) assert.equal(stateAt(times, 6), state, String(times));
});

Deno.test("the next change is the nearest bound or documentation", () => {
  const knowns = [[1, 4, null], [2, null, 9], [null, 5, 5]];
  assert.equal(nextChange(knowns, 2, 1), 4);
  assert.equal(nextChange(knowns, 2, -1), 1);
  assert.equal(nextChange(knowns, 9, 1), undefined);
  // 7:40 is 7.67 on the slider: it is neither found again nor passed over.
  const odd = [[7 + 2 / 3, 7 + 2 / 3, 8]];
  assert.equal(nextChange(odd, 7.67, -1), undefined);
  assert.equal(nextChange(odd, 7, 1), 7.67);
});

Deno.test("hours have at most one digit", () => {
  assert.deepEqual([6, 6.04, 6.5, -2].map(hourWords), ["6 h", "6 h", "6.5 h", "−2 h"]);
});
