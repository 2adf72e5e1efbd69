// The gutter of the note: a map of its occurrences with the part in sight, and the section's name.
import { noteBody } from "./note.js";
import * as Case from "./state.js";

const scroller = Case.find("[data-note]");
const map = Case.find("[data-note-map]");
const where = Case.find("[data-note-where]");
const sections = [...noteBody.querySelectorAll(".note-section")];
const named = sections.map((section) => section.querySelector(".note-label")?.textContent ?? "");
let places = [];
let waiting = 0;

// Reads the place of every occurrence; drawing alone reads no layout.
function measure() {
  const top = noteBody.getBoundingClientRect().top;
  // A note of a chart whose tab is not chosen has no place on the map.
  const shown = [...noteBody.querySelectorAll(".seg")].filter((one) => one.getClientRects().length);
  places = shown.map((segment) => ({
    y: segment.getBoundingClientRect().top - top,
    segment,
  }));
  draw();
}

function draw() {
  const { clientWidth: width, clientHeight: height } = map;
  if (!width) return;
  const density = devicePixelRatio || 1;
  map.width = width * density;
  map.height = height * density;
  const pen = map.getContext("2d");
  pen.scale(density, density);
  const inks = new Map();
  const ink = (name) => {
    if (!inks.has(name)) {
      map.style.color = `var(--map-${name})`;
      inks.set(name, getComputedStyle(map).color);
    }
    return inks.get(name);
  };
  const scale = height / scroller.scrollHeight;
  pen.fillStyle = ink("view");
  pen.fillRect(0, scroller.scrollTop * scale, width, scroller.clientHeight * scale);
  for (const { y, segment } of places) {
    const strong = segment.classList.contains("is-selected")
      ? "selected"
      : segment.querySelector(".u-corrected")
      ? "corrected"
      : segment.querySelector(".is-far")
      ? "far"
      : "";
    pen.fillStyle = ink(strong || "line");
    const inset = strong ? 1 : 4;
    pen.fillRect(inset, y * scale, width - 2 * inset, strong ? 2.5 : 1);
  }
  name();
}

function name() {
  const top = noteBody.getBoundingClientRect().top;
  const seen = scroller.scrollTop + 4;
  const at = sections.findLastIndex((section) =>
    section.getBoundingClientRect().top - top <= seen - 24
  );
  where.hidden = at < 0 || !named[at];
  if (!where.hidden) where.textContent = named[at];
}

function drawSoon() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(draw);
}

scroller.addEventListener("scroll", drawSoon, { passive: true });
map.addEventListener("pointerdown", (event) => {
  map.setPointerCapture(event.pointerId);
  const to = (moved) => {
    const box = map.getBoundingClientRect();
    const share = (moved.clientY - box.top) / box.height;
    scroller.scrollTop = share * scroller.scrollHeight - scroller.clientHeight / 2;
  };
  to(event);
  map.addEventListener("pointermove", to);
  map.addEventListener("pointerup", () => map.removeEventListener("pointermove", to), {
    once: true,
  });
});
Case.on("select", drawSoon);
document.addEventListener("themechange", drawSoon);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
new ResizeObserver(measure).observe(noteBody);
new ResizeObserver(measure).observe(map);
