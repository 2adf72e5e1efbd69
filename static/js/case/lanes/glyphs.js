// The marks: each status has a shape and a colour (see static/css/lanes.css).
import { node } from "./svg.js";

const SHAPES = {
  explicit: () => [node("circle", { r: 4.5 })],
  inferred: () => [node("circle", { r: 4.5 })],
  moved: () => [
    node("path", { d: "M0-6.5 6.5 0 0 6.5-6.5 0Z", class: "outer" }),
    node("path", { d: "M0-3 3 0 0 3-3 0Z" }),
  ],
  corrected: () => [
    node("circle", { r: 6, class: "outer" }),
    node("path", { d: "M-3 0-0.8 2.4 3.2-2.4", class: "check" }),
  ],
  unspecified: () => [node("rect", { x: -4, y: -4, width: 8, height: 8 })],
  unplaced: () => [node("circle", { r: 4.5 })],
};

export function glyph(status, x, y) {
  return node(
    "g",
    { class: `glyph glyph-${status}`, transform: `translate(${x} ${y})` },
    ...(SHAPES[status] ?? SHAPES.unspecified)(),
  );
}
