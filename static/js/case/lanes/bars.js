// A drug or a line on its row: when it ran, single doses, and its dose in words.
import { node, widthOf } from "./svg.js";

const LEAST = 2.5;

export function drawBars(track, scale, y) {
  const made = node("g", { class: track.ordered ? "bars bars-ordered" : "bars" });
  for (const [from, to] of track.runs) {
    if (!scale.shows(from, to)) continue;
    const x = scale.held(from);
    const width = Math.max(LEAST, scale.held(to) - x);
    made.append(node("rect", { x, y: y - 0.5, width, height: 2, class: "run" }));
  }
  for (const [from, to, dose] of track.bars) {
    if (!scale.shows(from, to)) continue;
    const x = scale.held(from);
    const shape = from === to
      ? node("rect", { x: x - 1, y: y - 4, width: 2, height: 8, class: "dose" })
      : node("rect", {
        x,
        y: y - 2,
        width: Math.max(LEAST, scale.held(to) - x),
        height: 5,
        rx: 2,
        class: "bar",
      });
    if (dose) shape.append(node("title", {}, `${track.name} ${dose}`));
    made.append(shape);
  }
  return made;
}

// The words of the dose, after the last part of the bar in the window; null without room.
export function doseWords(track, scale) {
  const words = [track.words, track.ordered ? "ordered" : ""].filter(Boolean).join(" · ");
  const shown = track.runs.filter(([from, to]) => scale.shows(from, to));
  if (!words || !shown.length) return null;
  const width = widthOf(words);
  const after = scale.held(shown.at(-1)[1]) + 10;
  if (after + width <= scale.right) return { words, x: after, from: after - 4, to: after + width };
  const before = scale.held(shown[0][0]) - 10 - width;
  return before >= scale.left ? { words, x: before, from: before, to: before + width } : null;
}
