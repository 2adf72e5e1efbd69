import assert from "node:assert/strict";
import { createEvents } from "../../static/js/common/events.js";

Deno.test("listeners are called in the order in which they came, with every value", () => {
  const { on, emit } = createEvents();
  const heard = [];
  on("select", (...values) => heard.push(["first", ...values]));
  on("select", (...values) => heard.push(["second", ...values]));
  emit("select", "a", 1);
  assert.deepEqual(heard, [["first", "a", 1], ["second", "a", 1]]);
});

Deno.test("an event without listeners, and those of another page, are not heard", () => {
  const { on, emit } = createEvents();
  const heard = [];
  on("select", () => heard.push("select"));
  emit("window");
  createEvents().emit("select");
  assert.deepEqual(heard, []);
});
