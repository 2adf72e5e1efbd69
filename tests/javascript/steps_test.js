import assert from "node:assert/strict";
import { pauseAfter } from "../../static/js/common/retry.js";
import {
  answeredWords,
  endingOf,
  itemsInHand,
  outcomeOf,
  waitingWords,
} from "../../static/js/review/steps.js";

Deno.test("no item is asked for that is on screen or whose answer is being sent", () => {
  const pending = [{ item: "b" }, { item: "b" }, { url: "undo/" }, { item: "c" }];
  assert.deepEqual(itemsInHand("a", pending), ["a", "b", "c"]);
  assert.deepEqual(itemsInHand("c", pending), ["c", "b"]);
  assert.deepEqual(itemsInHand(undefined, []), []);
});

const OUTCOMES = [
  [{ status: 200, isJson: true }, "stored"],
  [{ status: 401, isJson: false }, "signed-out"],
  [{ status: 403, isJson: false }, "expired"],
  [{ status: 404, isJson: false }, "expired"],
  [{ status: 403, isJson: true }, "rejected"],
  [{ status: 404, isJson: true }, "rejected"],
  [{ status: 409, isJson: true }, "rejected"],
  [{ status: 423, isJson: true }, "rejected"],
  [{ status: 413, isJson: false }, "lost"],
  [{ status: 500, isJson: true }, "lost"],
  [{ status: 502, isJson: false }, "lost"],
  [{ status: 0 }, "lost"],
];
for (const [answer, outcome] of OUTCOMES) {
  const kind = answer.isJson ? "JSON" : "no JSON";
  Deno.test(`a step with the answer ${answer.status} and ${kind} is ${outcome}`, () => {
    assert.equal(outcomeOf(answer), outcome);
  });
}

Deno.test("attempts come further apart, up to half a minute", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6, 100].map(pauseAfter), [1, 2, 4, 8, 15, 30, 30, 30]);
});

Deno.test("an answer counts as saved only with a connection", () => {
  assert.equal(answeredWords("Both", "saved"), "Saved: Both.");
  assert.equal(answeredWords("Yes", "saving"), "Saved: Yes.");
  for (const connection of ["lost", "signed-out", "stopped"]) {
    assert.equal(answeredWords("A", connection), "Not sent yet: A.");
  }
});

Deno.test("steps that wait are counted", () => {
  assert.deepEqual([0, 1, 2].map(waitingWords), [
    "Your answers are stored",
    "1 step is stored",
    "2 steps are stored",
  ]);
});

Deno.test("without a next item the page says why and what to do", () => {
  const links = (values) => [endingOf(values).title, endingOf(values).link];
  assert.deepEqual(links({ done: 4, total: 4 }), ["All items are decided", "To the last steps"]);
  assert.deepEqual(links({ done: 3, total: 4 }), ["No items for you now", "To the packet"]);
  assert.deepEqual(endingOf({ message: "The packet was closed.", done: 4, total: 4 }), {
    title: "This review is closed",
    words: "The packet was closed.",
    link: "To the packet",
  });
});
