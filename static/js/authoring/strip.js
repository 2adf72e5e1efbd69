// A strip of time above the list: one mark for every placed occurrence, on the case page's axis
// (zero is always at the same position).
import { element } from "../common/dom.js";
import { placeOf, stepFor } from "./scale.js";
import * as Author from "./state.js";

const { state } = Author;
const strip = Author.find("[data-strip]");
const { zero, linear, past_steps: PAST, future_steps: FUTURE, ticks: TICKS } = Author.data.axis;
const TICK_ROOM = 44;

function draw() {
  const placed = Author.inNote().filter((o) => o.placed && o.time !== null);
  const hours = [
    ...placed.flatMap((o) => [o.time, o.lower, o.upper]).filter((h) => h !== null),
    Author.data.discharge ?? 0,
  ];
  const past = stepFor(Math.max(0, ...hours.map((h) => -h)), PAST);
  const future = stepFor(Math.max(0, ...hours), FUTURE);
  const at = (h) => `${(100 * placeOf(h, { zero, linear, past, future })).toFixed(2)}%`;
  const line = element("div", "strip-line");
  for (const o of placed) {
    if (o.lower !== null || o.upper !== null) line.append(bounds(o, at, past, future));
    const mark = element(
      "button",
      `strip-mark ink-${Author.status(o)}${o.uid === state.selected ? " is-selected" : ""}`,
    );
    mark.type = "button";
    mark.tabIndex = -1;
    mark.dataset.uid = o.uid;
    mark.style.left = at(o.time);
    mark.title = `${o.mention} · ${Author.momentWords(o)}`;
    line.append(mark);
  }
  strip.replaceChildren(line, axis(at, past, future));
  if (Author.data.discharge !== null) {
    const end = element("span", "strip-discharge");
    end.style.left = at(Author.data.discharge);
    end.title = "discharge";
    line.prepend(end);
  }
}

function bounds(o, at, past, future) {
  const bar = element("span", "strip-bounds");
  const from = at(o.lower ?? -past);
  bar.style.left = from;
  bar.style.width = `${(parseFloat(at(o.upper ?? future)) - parseFloat(from)).toFixed(2)}%`;
  return bar;
}

// If two labels would touch, only the more important tick has one.
function axis(at, past, future) {
  const made = element("div", "strip-axis");
  const taken = [];
  for (const [hours, words] of [...TICKS].sort((a, b) => a[2] - b[2])) {
    if (hours < -past || hours > future) continue;
    const x = (parseFloat(at(hours)) / 100) * strip.clientWidth;
    if (
      x < 12 || x > strip.clientWidth - 12 || taken.some((other) => Math.abs(other - x) < TICK_ROOM)
    ) continue;
    taken.push(x);
    const tick = element("span", `tick${hours === 0 ? " tick-zero" : ""}`, words);
    tick.style.left = at(hours);
    made.append(tick);
  }
  return made;
}

strip.addEventListener("click", (event) => {
  const mark = event.target.closest("[data-uid]");
  if (mark) Author.select(mark.dataset.uid, "strip");
});
Author.on("document", draw);
Author.on("select", draw);
Author.on("renamed", draw);
new ResizeObserver(draw).observe(strip);
