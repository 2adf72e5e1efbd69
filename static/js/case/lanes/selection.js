// What is drawn with one occurrence: a ring, its bounds, its move from the text, its
// evidence and the reference.
import { node } from "./svg.js";

export function drawShift(item, place, scale) {
  if (item.tx === undefined || Math.abs(item.tx - item.x) < 0.002) return [];
  const from = scale.held(item.tx);
  return [
    node("line", { x1: from, x2: place.x, y1: place.y, y2: place.y, class: "shift" }),
    node("circle", { cx: from, cy: place.y, r: 4, class: "shift-from" }),
  ];
}

export function drawReference(item, place, scale) {
  if (item.rx === undefined) return [];
  const x = scale.held(item.rx);
  const made = [node("line", {
    x1: x,
    x2: place.x,
    y1: place.y,
    y2: place.y,
    class: "reference-line",
  })];
  const diamond = node("path", { d: "M0-5 5 0 0 5-5 0Z", class: "reference" });
  diamond.setAttribute("transform", `translate(${x} ${place.y})`);
  return [...made, diamond];
}

export function drawBounds(item, place, scale) {
  if (!item.b) return [];
  const x = scale.held(item.lo);
  const width = Math.max(2, scale.held(item.hi) - x);
  return [node("rect", { x, y: place.y - 2, width, height: 4, rx: 2, class: "chosen-bounds" })];
}

export function drawSelected(item, place, scale) {
  const made = drawBounds(item, place, scale);
  for (const [share, adopted] of item.e ?? []) {
    if (!scale.shows(share)) continue;
    const x = scale.of(share);
    const name = adopted ? "row row-adopted" : "row";
    made.push(node("line", { x1: x, x2: x, y1: place.y - 9, y2: place.y + 9, class: name }));
  }
  return [
    ...made,
    ...drawShift(item, place, scale),
    ...drawReference(item, place, scale),
  ];
}

export const drawRing = (place) =>
  node("circle", { cx: place.x, cy: place.y, r: 10, class: "ring" });
