// A measurement on its row: its values in the record as a line.
import { node } from "./svg.js";

const MARGIN = 5;

// The height of a value in a row from `top`.
export function heightOf(track, top, height) {
  const span = track.high - track.low || 1;
  const room = height - 2 * MARGIN;
  if (track.high === track.low) return () => top + height / 2;
  return (value) => top + MARGIN + room - ((value - track.low) / span) * room;
}

export function drawCurve(track, scale, top, height) {
  const y = heightOf(track, top, height);
  const at = track.points.map(([share, value]) => [scale.of(share), y(value)]);
  // The points in the window, and one on either side for the line to leave it.
  const inside = at.map(([x]) => x >= scale.left && x <= scale.right);
  const shown = at.filter((_, n) => inside[n - 1] || inside[n] || inside[n + 1]);
  const made = node("g", { class: "curve" });
  if (shown.length > 1) {
    const path = shown.map(([x, at]) => `${x.toFixed(1)} ${at.toFixed(1)}`).join("L");
    made.append(node("path", { d: `M${path}`, class: "curve-line" }));
  }
  if (shown.length < 40) {
    for (const [x, at] of shown) {
      if (x >= scale.left && x <= scale.right) {
        made.append(node("circle", { cx: x.toFixed(1), cy: at.toFixed(1), r: 1.5 }));
      }
    }
  }
  return made;
}
