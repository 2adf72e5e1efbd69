// How long the reviewer looked at the item: the page was visible, and there was a key, a touch or a
// movement within the last minute.
import * as Review from "./state.js";

const IDLE = 60_000;
let seconds = 0;
let since = null;
let lastSign = 0;
let running = false;

// Time counts up to a minute after the last input.
function settle() {
  const now = performance.now();
  if (since !== null) {
    const until = Math.min(now, lastSign + IDLE);
    if (until > since) seconds += (until - since) / 1000;
  }
  since = running && document.visibilityState === "visible" ? now : null;
  return seconds;
}

function sign() {
  const now = performance.now();
  if (since !== null && now - lastSign > IDLE) {
    settle();
    since = now;
  }
  lastSign = now;
  if (since === null) settle();
}

Review.on("item", (item) => {
  settle();
  seconds = item ? Number(item.dataset.seconds) || 0 : 0;
  running = Boolean(item);
  lastSign = performance.now();
  since = running && document.visibilityState === "visible" ? lastSign : null;
});
document.addEventListener("visibilitychange", () => {
  settle();
  if (document.visibilityState === "visible") sign();
});
for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"]) {
  document.addEventListener(name, sign, { capture: true, passive: true });
}
export const secondsSeen = () => Math.round(settle() * 10) / 10;
