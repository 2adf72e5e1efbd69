// The note: the selection's segments are highlighted, its time is shown in the margin, and repeated
// clicks on overlapping spans go outwards.
import { element } from "../common/dom.js";
import { momentOf } from "../common/moment.js";
import * as Case from "./state.js";

const scroller = Case.find("[data-note]");
// A page without a note uses an empty body outside the page.
const body = Case.find("[data-note-body]") ?? element("div");
for (const name of ["explicit", "inferred", "moved", "unplaced", "unspecified"]) {
  const count = Case.items.filter((item) => item.s === name).length;
  const shown = Case.find(`[data-count="${name}"]`);
  shown.textContent = count;
  // Only imported timelines have times without a basis; other pages need no legend for them.
  if (name === "unspecified") shown.closest("li").hidden = !count;
}

const segmentsOf = new Map();
for (const segment of body.querySelectorAll(".seg")) {
  for (const uid of segment.dataset.o.split(" ")) {
    if (!segmentsOf.has(uid)) segmentsOf.set(uid, []);
    segmentsOf.get(uid).push(segment);
  }
}
const segments = (item) => (item && segmentsOf.get(item.u)) || [];
const chosenLabel = body.appendChild(element("div", "margin margin-selected"));
const hoverLabel = body.appendChild(element("div", "margin margin-hover"));
chosenLabel.hidden = hoverLabel.hidden = true;
let lit = [];
let focusable = null;

function label(box, item) {
  const first = segments(item)[0];
  box.hidden = !first;
  if (!first) return;
  const when = element("b", `status status-${item.s}`);
  when.append(momentOf(item.c ?? item.w, item.c ? item.w : ""));
  box.replaceChildren(when);
  if (item.pm !== undefined) box.append(element("span", "margin-pair", `reference ${item.pw}`));
  box.style.top = `${first.getBoundingClientRect().top - body.getBoundingClientRect().top}px`;
}

// The span of the other occurrence in an evaluation's pair, marked by its code points: this
// timeline may have no such span.
const marks = typeof Highlight === "function" && CSS.highlights ? new Highlight() : null;
if (marks) CSS.highlights.set("reference-span", marks);

function rangeOf(start, end) {
  const range = document.createRange();
  let at = 0;
  for (const text of body.querySelectorAll(".note-text")) {
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const letters = [...node.data];
      const unit = (point) => letters.slice(0, point - at).join("").length;
      if (start >= at && start < at + letters.length) range.setStart(node, unit(start));
      if (end > at && end <= at + letters.length) {
        range.setEnd(node, unit(end));
        return range;
      }
      at += letters.length;
    }
  }
  return null;
}

function markPartner(item) {
  marks?.clear();
  const range = item?.ps && rangeOf(...item.ps);
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

function bringIntoView(segment) {
  const box = segment.getBoundingClientRect();
  const frame = scroller.getBoundingClientRect();
  if (box.top < frame.top + 48 || box.bottom > frame.bottom - 48) {
    scroller.scrollTop += box.top - frame.top - frame.height * 0.35;
  }
}

export function showInNote(item) {
  const [first] = segments(item);
  if (!first) return;
  bringIntoView(first);
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
  for (const segment of lit) {
    segment.classList.add("is-selected");
    segment.setAttribute("aria-current", "true");
  }
  label(chosenLabel, item);
  if (Case.data.pairs) markPartner(item);
  hoverLabel.hidden = true;
  if (!lit.length) return;
  makeFocusable(lit[0]);
  bringIntoView(lit[0]);
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
    segment.classList.toggle("is-hit", Boolean(Case.state.hits) && shown);
  }
}
Case.on("window", dim);
Case.on("search", dim);
new ResizeObserver(() => label(chosenLabel, Case.selectedItem())).observe(body);
makeFocusable(body.querySelector(".seg"));
