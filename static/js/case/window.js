// The time window of the case page: a range of positions between 0 and 1, and what is in it.

const LEAST = 0.01;

export const isWhole = ([start, end]) => start <= 0 && end >= 1;

// An item without a position is only in the whole window.
export const isInside = (item, window) =>
  isWhole(window) || (item.x !== undefined && item.x >= window[0] && item.x <= window[1]);

// The nearest window that is within 0 and 1 and not too narrow.
export function clamped(start, end) {
  const width = Math.min(1, Math.max(LEAST, end - start));
  const from = Math.min(Math.max(0, start), 1 - width);
  return [from, from + width];
}

// The window wider or narrower by a factor; `centre` does not move on the screen.
export function zoomed([start, end], factor, centre = (start + end) / 2) {
  const share = (centre - start) / (end - start);
  const width = (end - start) * factor;
  return [centre - share * width, centre + (1 - share) * width];
}

// The element after `current` in a direction, continued at the other end; with `fromStart` the
// first one, unless that is the current one.
export function stepIn(order, current, direction, fromStart = false) {
  const at = fromStart && order[0] !== current ? -1 : order.indexOf(current);
  if (at < 0) return order.at(direction > 0 || fromStart ? 0 : -1);
  return order[(at + direction + order.length) % order.length];
}

// Ticks are [position, words, rank].
export function nearestTick(ticks, position) {
  const away = (tick) => Math.abs(tick[0] - position);
  return ticks.reduce((best, tick) => (away(tick) < away(best) ? tick : best));
}

// Approximate widths of axis labels in pixels: a character, and the space beside a label.
const LETTER = 6.6;
const AIR = 14;

// The ticks whose labels fit: lower ranks have priority, then ticks nearer to `zero`.
export function fittingTicks(ticks, { window: [start, end], width, zero }) {
  const taken = [];
  const away = (tick) => Math.abs(tick[0] - zero);
  for (const tick of [...ticks].sort((a, b) => a[2] - b[2] || away(a) - away(b))) {
    const at = ((tick[0] - start) / (end - start)) * width;
    if (at < -1 || at > width + 1) continue;
    const half = (tick[1].length * LETTER) / 2;
    const left = Math.max(0, Math.min(at - half, width - 2 * half));
    const right = left + 2 * half;
    if (taken.every((other) => left > other.right + AIR || right < other.left - AIR)) {
      taken.push({ tick, left, right });
    }
  }
  return taken.map((label) => label.tick).sort((a, b) => a[0] - b[0]);
}
