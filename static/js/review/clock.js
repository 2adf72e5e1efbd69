// How long the reviewer looked at the item.
import * as Review from "./state.js";
import { createStopwatch } from "./stopwatch.js";

const isVisible = () => document.visibilityState === "visible";
const watch = createStopwatch(() => performance.now(), isVisible);

Review.on("item", (item) => {
  if (item) watch.start(Number(item.dataset.seconds) || 0);
  else watch.stop();
});
document.addEventListener("visibilitychange", () => (isVisible() ? watch.sign() : watch.settle()));
for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"]) {
  document.addEventListener(name, watch.sign, { capture: true, passive: true });
}
export const secondsSeen = () => Math.round(watch.settle() * 10) / 10;
