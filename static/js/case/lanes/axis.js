// The axis above the lanes: days and clock times, or hours, and where time is compressed.
import { chosenClock } from "../../common/moment.js";
import { fittingTicks } from "../window.js";
import { EDGE, node, widthOf } from "./svg.js";

const HEIGHT = 28;
const BASE = 22;
const BOLD = 1.12;
const BREAK = "M-7 5-3-5M-1 5 3-5";

export function drawAxis(data, window, scale) {
  const svg = node("svg", {
    width: scale.right + EDGE,
    height: HEIGHT,
    class: "lanes-axis",
    "aria-hidden": "true",
  });
  const discharge = data.discharge === null ? [] : [[data.discharge, "discharge", 0.5]];
  const ticks = fittingTicks([...data.ticks[chosenClock()], ...discharge], {
    window,
    width: scale.width,
    zero: data.zero,
  });
  const { left, right } = scale;
  svg.append(node("line", { x1: left, x2: right, y1: BASE, y2: BASE }));
  for (const [share, words, rank] of ticks) {
    const half = (widthOf(words) * (rank < 1 ? BOLD : 1)) / 2;
    const at = scale.of(share);
    const x = Math.min(right + EDGE - half, Math.max(left + half, at));
    svg.append(
      node("text", { x, y: 13, class: rank < 1 ? "tick tick-edge" : "tick" }, words),
      node("line", { x1: at, x2: at, y1: BASE - 4, y2: BASE }),
    );
  }
  // Time is compressed beyond admission and discharge.
  for (const [share, is, away] of [[data.zero, data.past, -9], [data.discharge, data.future, 13]]) {
    if (!is || share === null || !scale.shows(share)) continue;
    const transform = `translate(${scale.of(share) + away} ${BASE})`;
    svg.append(
      node("rect", { x: -6, y: -5, width: 8, height: 10, transform, class: "gap" }),
      node("path", { d: BREAK, transform, class: "break" }),
    );
  }
  return svg;
}
