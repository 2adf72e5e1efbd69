import assert from "node:assert/strict";
import { createStopwatch } from "../../static/js/review/stopwatch.js";

// A stopwatch with a clock that the test moves, and a page that it hides.
function started(counted = 0) {
  const page = { at: 5_000, visible: true };
  const watch = createStopwatch(() => page.at, () => page.visible);
  watch.start(counted);
  const pass = (seconds) => page.at += seconds * 1000;
  return { page, watch, pass };
}

Deno.test("time counts from the seconds that were counted before", () => {
  const { watch, pass } = started(12.5);
  pass(20);
  assert.equal(watch.settle(), 32.5);
  pass(10);
  assert.equal(watch.settle(), 42.5);
});

Deno.test("time counts for a minute after the last sign", () => {
  const { watch, pass } = started();
  pass(30);
  watch.sign();
  pass(600);
  assert.equal(watch.settle(), 90);
  pass(600);
  assert.equal(watch.settle(), 90);
});

Deno.test("a sign after a pause counts from then on, without the pause", () => {
  const { watch, pass } = started();
  pass(600);
  watch.sign();
  pass(15);
  assert.equal(watch.settle(), 75);
});

Deno.test("a hidden page does not count", () => {
  const { page, watch, pass } = started();
  pass(10);
  page.visible = false;
  watch.settle();
  pass(40);
  page.visible = true;
  watch.sign();
  pass(5);
  assert.equal(watch.settle(), 15);
});

Deno.test("an item that is opened in a hidden page counts when the page is shown", () => {
  const page = { at: 0, visible: false };
  const watch = createStopwatch(() => page.at, () => page.visible);
  watch.start(3);
  page.at = 9_000;
  assert.equal(watch.settle(), 3);
  page.visible = true;
  watch.sign();
  page.at = 11_000;
  assert.equal(watch.settle(), 5);
});

Deno.test("the next item starts again, and without an item nothing counts", () => {
  const { watch, pass } = started(100);
  pass(10);
  watch.start(0);
  pass(2);
  assert.equal(watch.settle(), 2);
  watch.stop();
  pass(30);
  watch.sign();
  pass(30);
  assert.equal(watch.settle(), 0);
});
