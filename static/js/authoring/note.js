// The note: drawn from its stored characters, with every mark underlined. Text selected with the
// mouse becomes a mark.
import { element } from "../common/dom.js";
import * as Author from "./state.js";
import * as Text from "./text.js";

const { note, state } = Author;
export const scroller = Author.find("[data-note]");
const form = Author.find("[data-form]");
const body = Author.find("[data-note-body]");
const bar = Author.find("[data-pick-bar]");
const DEEPEST = 3;
const LONGEST_NAME = 500;
const SETTLED_AFTER = 250;
const startOf = new Map();
let parts = [];

for (const section of Author.data.sections) {
  const row = body.appendChild(element("div", "note-section"));
  const label = row.appendChild(element("div", "note-label"));
  label.setAttribute("aria-hidden", "true");
  label.append(element("span", "", section.label));
  parts.push({
    start: section.start,
    end: note.length,
    box: row.appendChild(element("div", "note-text")),
    drawn: "",
  });
}
parts.slice(1).forEach((part, at) => (parts[at].end = part.start));
parts = parts.filter((part) => part.start < part.end);

function textNode(start, end) {
  const made = document.createTextNode(note.slice(start, end));
  startOf.set(made, note.units(start));
  return made;
}

function segment(piece, levels) {
  let inside = textNode(piece.start, piece.end);
  if (!piece.spans.length) return inside;
  for (const span of piece.spans) {
    const line = element(
      "span",
      `u u-${Author.status(span)} l${Math.min(levels.get(span.uid), DEEPEST)}`,
    );
    line.append(inside);
    inside = line;
  }
  const made = element("span", "seg");
  made.dataset.o = piece.spans.map((span) => span.uid).join(" ");
  made.append(inside);
  return made;
}

// Redraws only sections whose marks changed, and none while text is being selected.
let dragging = false;
function draw() {
  if (dragging) return;
  const spans = Author.inNote().filter((o) => o.start !== null && o.start < o.end);
  const levels = Text.levels(spans);
  let redrawn = false;
  for (const part of parts) {
    const inside = spans.filter((o) => o.start < part.end && o.end > part.start);
    const signature = inside.map((o) =>
      `${o.uid} ${o.start} ${o.end} ${Author.status(o)} ${levels.get(o.uid)}`
    ).join("|");
    if (signature === part.drawn && part.box.firstChild) continue;
    part.drawn = signature;
    for (const known of startOf.keys()) if (part.box.contains(known)) startOf.delete(known);
    part.box.replaceChildren(
      ...Text.pieces(part.start, part.end, inside).map((piece) => segment(piece, levels)),
    );
    redrawn = true;
  }
  if (redrawn && state.picked && !form.contains(document.activeElement)) showPick(state.picked);
  light();
  counts();
}

function counts() {
  for (const box of Author.root.querySelectorAll("[data-count]")) {
    box.textContent = Author.inNote().filter((o) => Author.status(o) === box.dataset.count).length;
  }
}

const segments = (uid) =>
  [...body.querySelectorAll(".seg")].filter((segment) =>
    segment.dataset.o.split(" ").includes(uid)
  );
function light() {
  for (const segment of body.querySelectorAll(".is-selected")) {
    segment.classList.remove("is-selected");
  }
  if (state.selected) {
    for (const segment of segments(state.selected)) segment.classList.add("is-selected");
  }
}

// UTF-16 offset in the note of a position in the document.
function unitOf(node, offset) {
  if (startOf.has(node)) return startOf.get(node) + offset;
  const at = document.createRange();
  at.setStart(node, offset);
  let best = null;
  for (const [known, start] of startOf) {
    if (at.comparePoint(known, 0) >= 0 && (best === null || start < best)) best = start;
  }
  return best ?? note.text.length;
}

function nodeAt(point, isEnd) {
  const unit = note.units(point);
  for (const [known, start] of startOf) {
    const inside = isEnd
      ? unit > start && unit <= start + known.length
      : unit >= start && unit < start + known.length;
    if (inside) return [known, unit - start];
  }
  return null;
}

export function rangeOf(span) {
  const from = nodeAt(span.start, false);
  const to = nodeAt(span.end, true);
  if (!from || !to) return null;
  const range = document.createRange();
  range.setStart(...from);
  range.setEnd(...to);
  return range;
}

function showPick(span) {
  const range = span && rangeOf(span);
  const selection = getSelection();
  selection.removeAllRanges();
  if (range) selection.addRange(range);
}

function placeBar() {
  const range = state.picked && rangeOf(state.picked);
  bar.hidden = !range || state.locked;
  if (bar.hidden) return;
  bar.querySelector("[data-do=split]").hidden = !splittable();
  bar.querySelector("[data-do=respan]").hidden = !Author.selected();
  const frame = body.getBoundingClientRect();
  const boxes = range.getClientRects();
  const last = boxes[boxes.length - 1];
  bar.style.top = `${last.bottom - frame.top + 6}px`;
  bar.style.left = `${
    Math.max(8, Math.min(last.left - frame.left, frame.width - bar.offsetWidth - 8))
  }px`;
}

// The selected occurrence, or the shortest one there if none is selected, provided that the picked
// text is only a part of it.
function splittable() {
  const { picked } = state;
  if (!picked) return null;
  const long = (span) => span.end - span.start;
  const around = (o) => o.start <= picked.start && o.end >= picked.end && long(picked) < long(o);
  const whole = Author.selected() ??
    Author.inNote().filter(around).sort((a, b) => long(a) - long(b))[0];
  return whole && !whole.busy && around(whole) ? whole : null;
}

function picked() {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed || !body.contains(selection.anchorNode)) {
    return null;
  }
  const range = selection.getRangeAt(0);
  const start = note.points(unitOf(range.startContainer, range.startOffset));
  const unit = unitOf(range.endContainer, range.endOffset);
  const end = note.points(unit) + (unit > note.units(note.points(unit)) ? 1 : 0);
  return Text.tidied(note, start, end);
}

// Repeated clicks on one stretch go from the innermost occurrence to the outermost, then start
// again.
function click(event) {
  const segment = event.target.closest(".seg");
  if (!segment || !getSelection().isCollapsed) return;
  const uids = segment.dataset.o.split(" ");
  Author.select(uids[(uids.indexOf(state.selected) + 1) % uids.length], "note");
}

export function reveal(span) {
  const box = rangeOf(span)?.getBoundingClientRect();
  const frame = scroller.getBoundingClientRect();
  if (!box || (box.top >= frame.top + 40 && box.bottom <= frame.bottom - 40)) return;
  scroller.scrollTop += box.top - frame.top - frame.height * 0.35;
}

function named(span) {
  const words = note.slice(span.start, span.end).replace(/\s+/gu, " ");
  return words.length > LONGEST_NAME
    ? `${words.slice(0, LONGEST_NAME - 1).replace(/[\uD800-\uDBFF]$/u, "")}…`
    : words;
}

// Marks a span, named by its own words until the author changes the name. A span that is marked
// already is selected instead.
export function mark() {
  const span = state.picked;
  if (!span || state.locked) return;
  Author.pick(null);
  const there = Author.inNote().find((o) => o.start === span.start && o.end === span.end);
  if (there) return Author.select(there.uid, "mark");
  const mention = named(span);
  const edit = Author.edit("add", { values: { ...span, mention } });
  Author.select(edit.made, "mark");
  Author.announce(`Marked: ${mention}. Enter its name and time beside the note.`);
}

export function respan(span) {
  const chosen = Author.selected();
  if (!chosen || chosen.busy || !span) return;
  const values = { start: span.start, end: span.end };
  if (chosen.mention === named(chosen)) values.mention = named(span);
  Author.pick(null);
  Author.change(chosen.uid, values);
  Author.announce(`Marked text is now: ${note.slice(span.start, span.end)}`);
}

// Splits an occurrence into the picked stretch and the text before and after it.
export function split() {
  const whole = splittable();
  if (!whole) return;
  const { picked } = state;
  const cuts = [{ start: whole.start, end: picked.start }, picked, {
    start: picked.end,
    end: whole.end,
  }];
  const spans = cuts.map(({ start, end }) => Text.tidied(note, start, end)).filter((span) =>
    span && /[\p{L}\p{N}]/u.test(note.slice(span.start, span.end))
  );
  Author.pick(null);
  if (spans.length < 2) return;
  Author.edit("split", {
    uid: whole.uid,
    parts: spans.map((span) => ({ ...span, mention: named(span) })),
  });
}

body.addEventListener("click", click);
body.addEventListener("pointerdown", (event) => {
  if (bar.contains(event.target)) return;
  dragging = true;
  Author.emit("words-off");
});
function dropped() {
  if (!dragging) return;
  dragging = false;
  const span = picked();
  if (span || state.picked) Author.pick(span, "mouse");
  draw();
}
// Touch moves a selection's ends without a pointer event; a click elsewhere clears the selection.
let settling = null;
function selectionMoved() {
  if (dragging || state.locked || scroller.classList.contains("is-choosing")) return;
  const span = picked();
  if (span?.start === state.picked?.start && span?.end === state.picked?.end) return;
  Author.pick(span, "mouse");
}
// The selection is read with a short delay; a key pressed before that must use it too.
export function pickNow() {
  clearTimeout(settling);
  dragging = false;
  selectionMoved();
}
document.addEventListener("selectionchange", () => {
  clearTimeout(settling);
  settling = setTimeout(selectionMoved, SETTLED_AFTER);
});
// The browser completes a selection only after the event that ends the drag.
for (const name of ["pointerup", "pointercancel"]) {
  document.addEventListener(name, () => setTimeout(dropped));
}
bar.addEventListener("pointerdown", (event) => event.preventDefault());

Author.on("document", draw);
Author.on("select", (occurrence, from) => {
  light();
  placeBar();
  if (occurrence && from !== "note") reveal(occurrence);
});
Author.on("renamed", light);
Author.on("pick", (span, from) => {
  if (from !== "mouse") showPick(span);
  placeBar();
});
new ResizeObserver(placeBar).observe(body);
draw();
