// The lanes of the case page: the note's occurrences and the record on the axis of the stay.
import { element } from "../../common/dom.js";
import { course } from "../ribbon.js";
import * as Case from "../state.js";
import { drawAxis } from "./axis.js";
import { drawChips, groupsOf } from "./chips.js";
import { listenToGestures } from "./gestures.js";
import { drawFolded, drawLane } from "./lane.js";
import { buildLanes, visiblePart } from "./model.js";
import { rankOf } from "./rank.js";
import { fetchTracks } from "./record.js";
import { createScale } from "./scale.js";
import { drawBounds, drawReference, drawRing, drawSelected, drawShift } from "./selection.js";
import { EDGE, widthOf } from "./svg.js";
import { hideTip, showItem, showMany } from "./tip.js";

const { data, items, state } = Case;
const scroller = Case.find("[data-plot-scroll]");
const body = Case.find("[data-lanes]");
const changes = Case.find("[data-lanes-changes]");
const note = Case.find("[data-lanes-note]");
const GUTTER = { wide: 164, narrow: 108, below: 560 };
// The head of a lane: the height of a line, its margins, and how much wider bold words are.
const LINE = 17;
const HEAD_MARGIN = 26;
const BOLD = 1.08;
// Hours from which a change is shown among the changes.
const LEAST_CHANGE = 0.5;

const folded = new Set(Case.remembered.get("collapsed", []));
const full = new Set();
let lanes = buildLanes(data);
let group = "";
let allGroups = false;
let scale = createScale([0, 1], 0, 1);
let drawn = new Map();
let pointed = null;

const axis = body.appendChild(element("div", "lanes-head"));
const list = body.appendChild(element("div", "lanes-list"));
const guide = body.appendChild(element("div", "lanes-guide"));
guide.hidden = true;
const now = body.appendChild(element("div", "lanes-now"));
now.hidden = true;

// The first of each words in its lane is written before its repetitions.
const firsts = new Set();
{
  const seen = new Set();
  for (const item of items) {
    const words = `${item.l} ${item.h.toLowerCase()}`;
    if (item.x !== undefined && !seen.has(words)) firsts.add(item.u);
    seen.add(words);
  }
}

const showsChanges = () => changes?.getAttribute("aria-pressed") === "true";
const changed = (item) => Boolean(item.d && (item.f || Math.abs(item.d) >= LEAST_CHANGE));
const isDim = (item) =>
  (state.hits && !state.hits.has(Case.byUid.get(item.u))) || (showsChanges() && !changed(item)) ||
  ["later", "not_yet"].includes(Case.knownOf(item));
const withChange = (item, words) =>
  showsChanges() && changed(item) && item.sw ? `${words} · ${item.sw}` : words;
const wordsOf = (item) => withChange(item, item.h);
// On a track, whose name need not be repeated.
const wordsBeside = (item) => withChange(item, item.g ?? item.h);

function ranks() {
  const chosen = Case.selectedItem();
  return new Map(items.map((item) => [
    item.u,
    rankOf(item, {
      first: firsts.has(item.u),
      hit: state.hits?.has(Case.byUid.get(item.u)) || (showsChanges() && changed(item)),
      selected: item.u === (chosen?.hd ?? chosen?.u),
    }),
  ]));
}

function headOf(lane, isFolded) {
  const head = element("div", "lane-head");
  const button = head.appendChild(element("button", "lane-button"));
  button.type = "button";
  button.dataset.fold = lane.key;
  button.setAttribute("aria-expanded", String(!isFolded));
  button.append(element("span", "lane-name", lane.label));
  if (lane.count) button.append(" ", element("span", "lane-count", String(lane.count)));
  if (lane.unplaced) {
    head.append(element("span", "lane-unplaced", `${lane.unplaced} not placed`));
  }
  return head;
}

// More tracks of the record than are drawn.
function footOf(lane, hidden) {
  const words = full.has(lane.key) ? "show fewer" : `${hidden} more in the record`;
  const more = element("button", "lane-more", words);
  more.type = "button";
  more.dataset.full = lane.key;
  return more;
}

// The lines of the head, which the margin may wrap.
function headHeight(lane) {
  const words = `${lane.label} ${lane.count || ""}`;
  const lines = widthOf(words) * BOLD > scale.left - HEAD_MARGIN ? 2 : 1;
  return (lines + (lane.unplaced ? 1 : 0)) * LINE;
}

function drawOne(lane, view) {
  const only = group && lane.key === "medication" ? new Set(data.classes[group] ?? []) : null;
  const part = visiblePart(lane, {
    window: state.window,
    full: full.has(lane.key),
    group: lane.key === "medication" ? group : "",
    keys: only,
  });
  const row = element("section", "lane-row");
  row.dataset.lane = lane.key;
  const isFolded = folded.has(lane.label);
  row.append(headOf(lane, isFolded));
  part.foot = !isFolded && (part.hidden > 0 || full.has(lane.key));
  if (lane.key === "medication" && !isFolded) {
    row.append(
      ...drawChips(groupsOf(data.classes, lane.tracks), { group, all: allGroups, choose }),
    );
  }
  const made = isFolded
    ? drawFolded(part, view)
    : drawLane(lane, part, { ...view, headHeight: headHeight(lane) });
  row.append(made.svg);
  if (part.foot) row.append(footOf(lane, part.hidden));
  for (const [uid, place] of made.places) drawn.set(uid, { ...place, svg: made.svg });
  return row;
}

const isEmpty = (lane) =>
  !lane.count && !lane.tracks.some((track) => track.named) &&
  !(lane.key === "course" && course.places.length);

export function draw() {
  const width = body.clientWidth;
  if (!width) return;
  const gutter = width < GUTTER.below ? GUTTER.narrow : GUTTER.wide;
  body.style.setProperty("--gutter", `${gutter}px`);
  scale = createScale(state.window, gutter, width - gutter - EDGE);
  const focus = focusedControl();
  drawn = new Map();
  const view = { data, scale, course: course.places, ranks: ranks(), isDim, wordsOf, wordsBeside };
  const shown = lanes.filter((lane) => !isEmpty(lane));
  const empty = lanes.filter(isEmpty).map((lane) => lane.label.toLowerCase());
  list.replaceChildren(...shown.map((lane) => drawOne(lane, view)));
  if (empty.length) list.append(element("p", "lanes-empty", `Nothing in ${empty.join(", ")}.`));
  axis.replaceChildren(drawAxis(data, state.window, scale));
  body.dataset.window = state.window.join(" ");
  body.dataset.pairs = String(
    items.filter((item) => item.pm !== undefined && item.rx !== undefined && drawn.has(item.u))
      .length,
  );
  if (focus) list.querySelector(focus)?.focus({ preventScroll: true });
  overlay();
  point();
  drawNow();
}

// The hour of the slider "As of".
function drawNow() {
  const place = state.asOf ? Case.placeOfHour(state.asOf.hour) : null;
  now.hidden = place === null || place < state.window[0] || place > state.window[1];
  if (!now.hidden) now.style.left = `${scale.of(place)}px`;
}

// Restores the focus after drawing: the window may move while a control has the focus.
function focusedControl() {
  const { dataset } = document.activeElement ?? {};
  if (!list.contains(document.activeElement)) return "";
  if (dataset.fold) return `[data-fold="${dataset.fold}"]`;
  if (dataset.full) return `[data-full="${dataset.full}"]`;
  const chips = [...list.querySelectorAll(".chip")];
  const at = chips.indexOf(document.activeElement);
  return at < 0 ? "" : `.chip:nth-child(${at + 1})`;
}

// Where an occurrence is drawn; one event in several notes has one mark.
const placeOf = (item) => drawn.get(item?.hd ?? item?.u);
const marksOf = (item) => list.querySelectorAll(`[data-u="${CSS.escape(item.hd ?? item.u)}"]`);

const over = (svg) => svg.querySelector(".lane-over");
const under = (svg) => svg.querySelector(".lane-under");

// The selection, the pairs of an evaluation and, in its mode, every change.
function overlay() {
  for (const layer of list.querySelectorAll(".lane-over, .lane-under")) layer.replaceChildren();
  for (const marked of list.querySelectorAll(".is-selected")) {
    marked.classList.remove("is-selected");
  }
  for (const [uid, place] of drawn) {
    const item = items[Case.byUid.get(uid)];
    if (item.pm !== undefined) under(place.svg).append(...drawReference(item, place, scale));
    if (showsChanges() && changed(item)) under(place.svg).append(...drawShift(item, place, scale));
  }
  const item = Case.selectedItem();
  const place = placeOf(item);
  guide.hidden = !place;
  if (!place) return;
  guide.style.left = `${place.x}px`;
  under(place.svg).append(...drawSelected(item, place, scale));
  over(place.svg).append(drawRing(place));
  for (const marked of marksOf(item)) marked.classList.add("is-selected");
}

// What is pointed at, here or in the note; it is marked again when the lanes are drawn again.
function point() {
  for (const marked of list.querySelectorAll(".is-pointed")) marked.classList.remove("is-pointed");
  for (const bounds of list.querySelectorAll(".pointed-bounds")) bounds.remove();
  const place = placeOf(pointed);
  if (!place) return;
  for (const bounds of drawBounds(pointed, place, scale)) {
    bounds.classList.add("pointed-bounds");
    under(place.svg).append(bounds);
  }
  for (const marked of marksOf(pointed)) marked.classList.add("is-pointed");
}

let waiting = 0;
function drawSoon() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(draw);
}

function choose(name, all = allGroups) {
  group = name;
  allGroups = all;
  draw();
}

function bringIntoView(place) {
  const box = place.svg.getBoundingClientRect();
  const frame = scroller.getBoundingClientRect();
  const y = box.top + place.y - frame.top;
  if (y < 40 || y > frame.height - 20) scroller.scrollTop += y - frame.height / 2;
}

Case.on("select", (item, from) => {
  const hidden = item?.x !== undefined && Case.inWindow(item) && !placeOf(item);
  // An occurrence that was counted with others, or is of another class, gets its own mark.
  if (hidden && lanes[item.l].key === "medication") group = "";
  if (hidden) draw();
  else overlay();
  const place = placeOf(item);
  if (place && from !== "plot") bringIntoView(place);
});
Case.on("hover", (item, event) => {
  pointed = item;
  point();
  if (item && event) showItem(item, event);
  else hideTip();
});
Case.on("window", () => {
  hideTip();
  drawSoon();
});
Case.on("search", drawSoon);
Case.on("asOf", drawSoon);
document.addEventListener("clockchange", drawSoon);

list.addEventListener("pointerover", (event) => {
  const mark = event.target.closest("[data-u]");
  const many = event.target.closest("[data-more]");
  if (mark) Case.emit("hover", items[Case.byUid.get(mark.dataset.u)], event);
  else if (many) showMany(many.dataset.more.split(" ").map((u) => items[Case.byUid.get(u)]), event);
  else Case.emit("hover", null);
});
list.addEventListener("pointerleave", () => Case.emit("hover", null));
list.addEventListener("click", (event) => {
  if (body.dataset.dragged) return;
  const mark = event.target.closest("[data-u]");
  const more = event.target.closest("[data-more], [data-full]");
  const fold = event.target.closest("[data-fold]");
  if (mark) Case.selectUid(mark.dataset.u, "plot");
  else if (more) {
    const key = more.dataset.full ?? more.dataset.lane;
    if (!full.delete(key)) full.add(key);
    hideTip();
    draw();
  } else if (fold) {
    const lane = lanes.find((one) => one.key === fold.dataset.fold);
    if (!folded.delete(lane.label)) folded.add(lane.label);
    Case.remembered.set("collapsed", [...folded]);
    // Some browsers do not focus a button that is clicked.
    fold.focus();
    draw();
  }
});
changes?.addEventListener("click", () => {
  changes.setAttribute("aria-pressed", String(!showsChanges()));
  draw();
});

listenToGestures(scroller, body, () => scale);

async function loadRecord() {
  try {
    lanes = buildLanes(data, await fetchTracks());
  } catch {
    note.textContent = "The record could not be loaded. The lanes show the note alone.";
    return;
  }
  note.textContent = "";
  draw();
  const chosen = placeOf(Case.selectedItem());
  if (chosen) bringIntoView(chosen);
  body.dataset.record = "shown";
}

// The record is read once the lanes are visible.
let loaded = false;
new ResizeObserver(() => {
  if (!body.clientWidth) return;
  if (!loaded) {
    loaded = true;
    loadRecord();
  }
  drawSoon();
}).observe(scroller);
