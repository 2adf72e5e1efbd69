// The overview strip: the number of occurrences over time, and the window that the plot shows and
// that filters the note.
import { element } from "../common/dom.js";
import { chosenClock } from "../common/moment.js";
import { node } from "./lanes/svg.js";
import * as Case from "./state.js";
import { nearestTick } from "./window.js";

const strip = Case.find("[data-overview]");
const words = Case.find("[data-window-words]");
const STEP = 0.02;

function draw() {
  const bins = Case.data.density;
  const most = Math.max(...bins, 1);
  const svg = node("svg", {
    viewBox: `0 0 ${bins.length} 100`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  bins.forEach((count, index) => {
    if (!count) return;
    const height = 12 + 80 * Math.sqrt(count / most);
    svg.append(node("rect", { x: index + 0.15, y: 100 - height, width: 0.7, height }));
  });
  strip.append(svg);
  for (const [name, at] of [["zero", Case.data.zero], ["discharge", Case.data.discharge]]) {
    if (at === null) continue;
    strip.append(element("div", `overview-line overview-${name}`));
    strip.lastChild.style.left = `${at * 100}%`;
  }
}

// The nearest tick names an end of the window, so that scripts need no arithmetic of hours.
function handle(index, name) {
  const made = element("div", "overview-handle");
  made.tabIndex = 0;
  made.setAttribute("role", "slider");
  made.setAttribute("aria-label", name);
  made.setAttribute("aria-valuemin", "0");
  made.setAttribute("aria-valuemax", "100");
  made.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -STEP, ArrowDown: -STEP, ArrowRight: STEP, ArrowUp: STEP }[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const next = [...Case.state.window];
    next[index] = Math.min(1, Math.max(0, next[index] + move));
    if (next[1] - next[0] >= STEP) Case.setWindow(...next);
  });
  return made;
}

draw();
const brush = strip.appendChild(element("div", "overview-brush"));
const handles = [handle(0, "Start of the time window"), handle(1, "End of the time window")];
strip.append(...handles);

function show([start, end]) {
  brush.style.left = `${start * 100}%`;
  brush.style.width = `${(end - start) * 100}%`;
  strip.classList.toggle("is-whole", Case.whole());
  [start, end].forEach((at, index) => {
    handles[index].style.left = `${at * 100}%`;
    handles[index].setAttribute("aria-valuenow", String(Math.round(at * 100)));
    handles[index].setAttribute(
      "aria-valuetext",
      nearestTick(Case.data.ticks[chosenClock()], at)[1],
    );
  });
  const inside = Case.items.filter(Case.inWindow).length;
  words.textContent = Case.whole() ? "" : `${inside} of ${Case.items.length} in window`;
}

strip.addEventListener("pointerdown", (event) => {
  const box = strip.getBoundingClientRect();
  const at = (moved) => Math.min(1, Math.max(0, (moved.clientX - box.left) / box.width));
  const [start, end] = Case.state.window;
  const from = at(event);
  const edge = handles.indexOf(event.target);
  const inside = edge < 0 && !Case.whole() && from > start && from < end;
  event.preventDefault();
  strip.setPointerCapture(event.pointerId);
  let dragged = false;
  const move = (moved) => {
    const to = at(moved);
    dragged ||= Math.abs(to - from) > 0.004;
    if (!dragged) return;
    if (edge === 0) Case.setWindow(Math.min(to, end - STEP), end);
    else if (edge === 1) Case.setWindow(start, Math.max(to, start + STEP));
    else if (inside) Case.setWindow(start + to - from, end + to - from);
    else Case.setWindow(Math.min(from, to), Math.max(from, to));
  };
  const stop = () => {
    strip.removeEventListener("pointermove", move);
    strip.removeEventListener("pointerup", stop);
    strip.removeEventListener("pointercancel", stop);
  };
  strip.addEventListener("pointermove", move);
  strip.addEventListener("pointerup", stop);
  strip.addEventListener("pointercancel", stop);
});
strip.addEventListener("dblclick", () => Case.setWindow(0, 1));
Case.on("window", show);
document.addEventListener("clockchange", () => show(Case.state.window));
show(Case.state.window);
