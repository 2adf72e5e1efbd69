// What is behind the marks of a lane: nights, days, and what is before and after the stay.
import { chosenClock } from "../../common/moment.js";
import { node } from "./svg.js";

export function ground(data, scale, height) {
  const made = node("g");
  const rect = (from, to, name) => {
    if (!scale.shows(from, to)) return;
    const x = scale.held(from);
    made.append(node("rect", { x, y: 0, width: scale.held(to) - x, height, class: name }));
  };
  const line = (share, name) => {
    if (!scale.shows(share)) return;
    const x = Math.round(scale.of(share)) + 0.5;
    made.append(node("line", { x1: x, x2: x, y1: 0, y2: height, class: name }));
  };
  for (const [from, to] of data.nights) rect(from, to, "ground-night");
  if (data.past) rect(0, data.zero, "ground-out");
  if (data.future) rect(data.discharge ?? 1, 1, "ground-out");
  for (const [from] of data.days[chosenClock()].slice(1)) line(from, "ground-day");
  line(data.zero, "ground-edge");
  if (data.discharge !== null) line(data.discharge, "ground-edge");
  return made;
}
