// The note: the selection's segments are highlighted, its time is shown in the margin, and repeated
// clicks on overlapping spans go outwards.
import { bringInto, element } from "../common/dom.js";
import { chosenOf, momentOf } from "../common/moment.js";
import { rangeOfPoints } from "./ranges.js";
import * as Case from "./state.js";

const scroller = Case.find("[data-note]");
// A page without a note uses an empty body outside the page.
const body = Case.find("[data-note-body]") ?? element("div");
for (const name of ["explicit", "inferred", "moved", "corrected", "unplaced", "unspecified"]) {
  const count = Case.items.filter((item) => item.s === name).length;
  const shown = Case.find(`[data-count="${name}"]`);
  if (!shown) continue;
  shown.textContent = count;
  // Few timelines have times without a basis or corrections; others need no legend for them.
  if (["unspecified", "corrected"].includes(name)) shown.closest("li").hidden = !count;
}

const segmentsOf = new Map();
for (const segment of body.querySelectorAll(".seg")) {
  // The lines of a segment, innermost first: in the order of its occurrences.
  const lines = [...segment.querySelectorAll(".u")].reverse();
  segment.dataset.o.split(" ").forEach((uid, index) => {
    if (!segmentsOf.has(uid)) segmentsOf.set(uid, []);
    segmentsOf.get(uid).push(segment);
    describe(lines[index], Case.items[Case.byUid.get(uid)]);
  });
}

// What the modes of the note draw: the kind, how exact the time is, and whether the record changed
// it by much. Only the last has a colour in every mode.
function describe(line, item) {
  if (!line || !item) return;
  line.dataset.kind = Case.data.lanes[item.l]?.key ?? "";
  line.dataset.sure = howSure(item);
  line.classList.toggle("is-far", Boolean(item.f));
}

function howSure(item) {
  if (item.x === undefined) return "none";
  if (!item.b) return item.s === "inferred" ? "some" : "exact";
  const width = item.hi - item.lo;
  return width < 0.01 ? "exact" : width < 0.08 ? "some" : "wide";
}

const kinds = Case.find("[data-kinds]");
for (const { key, label } of Case.data.lanes) {
  if (!kinds) break;
  const line = element("span", "hairline", label);
  line.dataset.kind = key ?? "";
  kinds.appendChild(element("li")).append(line);
}
const modes = [...Case.root.querySelectorAll("[data-mode-choice]")];
export function setMode(name) {
  body.dataset.mode = name;
  for (const button of modes) {
    button.setAttribute("aria-pressed", String(button.dataset.modeChoice === name));
  }
  for (const legend of Case.root.querySelectorAll("[data-legend]")) {
    legend.hidden = legend.dataset.legend !== name;
  }
  Case.remembered.set("mode", name);
}
for (const button of modes) {
  button.addEventListener("click", () => setMode(button.dataset.modeChoice));
}
const mode = Case.remembered.get("mode", "status");
setMode(modes.some((button) => button.dataset.modeChoice === mode) ? mode : "status");
const segments = (item) => (item && segmentsOf.get(item.u)) || [];
const chosenLabel = body.appendChild(element("div", "margin margin-selected"));
const hoverLabel = body.appendChild(element("div", "margin margin-hover"));
chosenLabel.hidden = hoverLabel.hidden = true;
let lit = [];
let focusable = null;

function label(box, item) {
  const first = segments(item)[0];
  // In a note whose tab is not chosen it has no place.
  box.hidden = !first?.getClientRects().length;
  if (box.hidden) return;
  const when = element("b", `status status-${item.s}`);
  when.append(momentOf(item.c ?? item.w, item.c ? item.w : ""));
  box.replaceChildren(when);
  if (item.pm !== undefined) {
    box.append(element("span", "margin-pair", `reference ${chosenOf(item.pw)}`));
  }
  box.style.top = `${first.getBoundingClientRect().top - body.getBoundingClientRect().top}px`;
}

// The span of the other occurrence in an evaluation's pair, marked by its code points: this
// timeline may have no such span.
const marks = typeof Highlight === "function" && CSS.highlights ? new Highlight() : null;
if (marks) CSS.highlights.set("reference-span", marks);

function markPartner(item) {
  marks?.clear();
  const range = item?.ps && rangeOfPoints(body, ...item.ps);
  if (range) marks?.add(range);
}

function makeFocusable(segment) {
  focusable?.setAttribute("tabindex", "-1");
  focusable = segment;
  focusable?.setAttribute("tabindex", "0");
}

// Repeated clicks on one stretch go from the innermost occurrence to the outermost, then start
// again.
function pick(segment) {
  const uids = segment.dataset.o.split(" ");
  const at = uids.indexOf(Case.selectedItem()?.u);
  Case.selectUid(uids[(at + 1) % uids.length], "note");
}

export const noteBody = body;

export function showInNote(item) {
  const [first] = segments(item);
  if (!first) return;
  Case.emit("reveal", first);
  bringInto(scroller, first);
  first.focus({ preventScroll: true });
}

body.addEventListener("click", (event) => {
  const segment = event.target.closest(".seg");
  if (segment && getSelection().isCollapsed) pick(segment);
});
body.addEventListener("keydown", (event) => {
  const segment = event.target.closest(".seg");
  if (segment && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    pick(segment);
  }
});
const hovered = (event) => {
  const segment = event.target.closest(".seg");
  Case.emit("hover", segment ? Case.items[Case.byUid.get(segment.dataset.o.split(" ")[0])] : null);
};
body.addEventListener("pointerover", hovered);
body.addEventListener("focusin", hovered);
body.addEventListener("pointerleave", () => Case.emit("hover", null));

let under = [];
Case.on("hover", (item) => {
  for (const segment of under) segment.classList.remove("is-hover");
  under = segments(item);
  for (const segment of under) segment.classList.add("is-hover");
  const same = item && item === Case.selectedItem();
  if (same) hoverLabel.hidden = true;
  else label(hoverLabel, item);
});

Case.on("select", (item, from) => {
  for (const segment of lit) {
    segment.classList.remove("is-selected");
    segment.removeAttribute("aria-current");
  }
  lit = segments(item);
  if (lit.length) Case.emit("reveal", lit[0]);
  for (const segment of lit) {
    segment.classList.add("is-selected");
    segment.setAttribute("aria-current", "true");
  }
  label(chosenLabel, item);
  if (Case.data.pairs) markPartner(item);
  hoverLabel.hidden = true;
  if (!lit.length) return;
  makeFocusable(lit[0]);
  bringInto(scroller, lit[0]);
  if (from === "note" || from === "keys" || from === "shift") lit[0].focus({ preventScroll: true });
});

function dim() {
  const plain = Case.whole() && !Case.state.hits;
  body.classList.toggle("is-filtered", !plain);
  for (const segment of body.querySelectorAll(".seg")) {
    const indices = segment.dataset.o.split(" ").map((uid) => Case.byUid.get(uid));
    const shown = plain ||
      indices.some((i) =>
        Case.inWindow(Case.items[i]) && (!Case.state.hits || Case.state.hits.has(i))
      );
    segment.classList.toggle("is-dim", !shown);
  }
}
// Where spans overlap, the innermost occurrence decides.
function markKnown() {
  body.classList.toggle("is-as-of", Case.state.asOf !== null);
  for (const segment of body.querySelectorAll(".seg")) {
    const [uid] = segment.dataset.o.split(" ");
    segment.dataset.known = Case.knownOf(Case.items[Case.byUid.get(uid)] ?? {});
  }
}
Case.on("asOf", markKnown);
Case.on("window", dim);
Case.on("search", dim);
document.addEventListener("clockchange", () => label(chosenLabel, Case.selectedItem()));
new ResizeObserver(() => label(chosenLabel, Case.selectedItem())).observe(body);
makeFocusable(body.querySelector(".seg"));
