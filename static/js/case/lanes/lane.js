// One lane: its words and marks, and below them its tracks. Returns the drawing and the place of
// each mark.
import { chosenOf } from "../../common/moment.js";
import { doseWords, drawBars } from "./bars.js";
import { drawCurve, heightOf } from "./curves.js";
import { glyph } from "./glyphs.js";
import { ground } from "./ground.js";
import { valueAt } from "./model.js";
import { byRank, freeBeside, pack } from "./pack.js";
import { EDGE, fitted, node, widthOf } from "./svg.js";

const ROW = 18;
const BAR = 22;
const CURVE = 30;
const TOP = 3;
const BOTTOM = 4;
const PLACE = 18;
const FOOT = 16;
// A bar is near the foot of its row, and marks and words are on top of it.
const BAR_FOOT = 5;
const ON_BAR = 9;
// The share of the width that faint bounds may take.
const WIDEST_BOUNDS = 0.12;
const HALF = 7;
const GAP = 6;
// Words that are cut are at least this wide.
const LEAST_WORDS = 52;

// `part` is what model.js chose; `view` has scale, data, ranks and options of the drawing.
export function drawLane(lane, part, view) {
  const { scale } = view;
  const places = new Map();
  const front = node("g");
  const behind = node("g");
  let y = TOP;
  if (lane.key === "course" && view.course.length) {
    behind.append(drawPlaces(view.course, scale, y));
    y += PLACE + 4;
  }
  const area = drawWords(part.loose, { ...view, top: y, most: part.rows, places, lane });
  front.append(area.drawn);
  // The head of the lane is beside these rows: no track begins beside it.
  y = Math.max(y + area.rows * ROW, TOP + view.headHeight);
  for (const track of part.tracks) {
    const height = track.points ? CURVE : BAR;
    behind.append(drawName(track, y, height, scale.left));
    if (track.points) behind.append(drawCurve(track, scale, y, height));
    else behind.append(drawBars(track, scale, y + height - BAR_FOOT));
    const on = drawOnTrack(track, { ...view, top: y, height, places });
    front.append(on);
    y += height;
  }
  const height = y + BOTTOM + (part.foot ? FOOT : 0);
  const svg = node("svg", {
    width: scale.right + EDGE,
    height,
    class: `lane-drawing lane-${lane.key}`,
    "aria-hidden": "true",
  });
  svg.append(
    ground(view.data, scale, height),
    behind,
    node("g", { class: "lane-under" }),
    front,
    node("g", { class: "lane-over" }),
  );
  return { svg, height, places };
}

// A folded lane: its marks on one line, without words.
export function drawFolded(part, view) {
  const places = new Map();
  const height = 26;
  const svg = node("svg", {
    width: view.scale.right + EDGE,
    height,
    class: "lane-drawing",
    "aria-hidden": "true",
  });
  svg.append(ground(view.data, view.scale, height), node("g", { class: "lane-under" }));
  for (const item of [...part.loose, ...part.tracks.flatMap((track) => track.items)]) {
    if (!view.scale.shows(item.x)) continue;
    const x = view.scale.of(item.x);
    places.set(item.u, { x, y: height / 2 });
    svg.append(markOf(item, x, height / 2, view));
  }
  svg.append(node("g", { class: "lane-over" }));
  return { svg, height, places };
}

const marksOf = (items, view) =>
  items.map((item) => ({
    id: item.u,
    n: item.n,
    item,
    x: view.scale.of(item.x) - view.scale.left,
    width: widthOf(view.wordsOf(item)),
    rank: view.ranks.get(item.u),
  }));

function markOf(item, x, y, view) {
  const made = glyph(item.s, x, y);
  made.dataset.u = item.u;
  if (item.a === 1) made.classList.add("is-denied");
  if (view.isDim(item)) made.classList.add("is-dim");
  return made;
}

function wordsAt(item, words, { x, y, side }, view) {
  const made = node("text", {
    x: side === "right" ? x + 10 : x - 10,
    y: y + 4,
    class: `word word-${side}`,
  }, words);
  made.dataset.u = item.u;
  if (view.isDim(item)) made.classList.add("is-dim");
  return made;
}

// Bounds are drawn where there is room; the selected and the pointed one have them always.
function faintBounds(item, mark, y, row, view) {
  const { scale } = view;
  if (!item.b) return [];
  const from = scale.held(item.lo) - scale.left;
  const to = scale.held(item.hi) - scale.left;
  const free = to - from > WIDEST_BOUNDS * scale.width ? null : freeBeside([from, to], mark, row);
  if (!free || free[1] - free[0] < 2 * HALF) return [];
  const [x1, x2] = free.map((x) => x + scale.left);
  return [node("line", { x1, x2, y1: y, y2: y, class: "bounds" })];
}

function drawWords(items, view) {
  const drawn = node("g");
  const { scale } = view;
  const marks = marksOf(items, view);
  const of = new Map(marks.map((mark) => [mark.id, mark]));
  const packed = pack(marks, { width: scale.width, most: view.most });
  for (const { id, row, side, at } of packed.placed) {
    const { item, x: own } = of.get(id);
    const x = scale.of(item.x);
    const y = view.top + row * ROW + ROW / 2;
    view.places.set(id, { x, y });
    drawn.prepend(...faintBounds(item, { x: own, side, at }, y, packed.taken[row], view));
    drawn.append(markOf(item, x, y, view));
    if (side) drawn.append(wordsAt(item, view.wordsOf(item), { x, y, side }, view));
  }
  const y = view.top + packed.rows * ROW + ROW / 2;
  for (const group of packed.rest) drawn.append(drawMore(group, y, view));
  return { drawn, rows: packed.rows + (packed.rest.length ? 1 : 0) };
}

function drawMore(group, y, view) {
  const words = `+${group.ids.length}`;
  const width = widthOf(words) + 12;
  const x = Math.min(view.scale.right - width, view.scale.left + group.x - width / 2);
  const made = node(
    "g",
    { class: "more" },
    node("rect", { x, y: y - 8, width, height: 16, rx: 8 }),
    node("text", { x: x + width / 2, y: y + 4 }, words),
  );
  made.dataset.more = group.ids.join(" ");
  made.dataset.lane = view.lane.key;
  return made;
}

// The note's occurrences on a track, with as much of their words as there is room for.
function drawOnTrack(track, view) {
  const drawn = node("g");
  const { scale } = view;
  const items = track.items.filter((item) => scale.shows(item.x));
  const marks = marksOf(items, view).sort(byRank);
  const used = marks.map((mark) => [mark.x - HALF, mark.x + HALF]);
  const middle = view.top + ON_BAR;
  const y = track.points ? heightOf(track, view.top, view.height) : () => middle;
  for (const mark of marks) {
    const { item } = mark;
    const x = scale.of(item.x);
    const at = track.points ? y(valueAt(track.points, item.x)) : middle;
    view.places.set(item.u, { x, y: at });
    drawn.append(markOf(item, x, at, view));
    const written = writeBeside(mark, view.wordsBeside(item), used, scale);
    if (!written) continue;
    used.push(written.taken);
    const line = Math.min(view.top + view.height - 8, Math.max(view.top + 7, at));
    drawn.append(wordsAt(item, written.words, { x, y: line, side: written.side }, view));
  }
  const dose = track.points || track.inName ? null : doseWords(track, scale);
  if (dose && isFree(used, dose.from - scale.left, dose.to - scale.left)) {
    drawn.append(node("text", { x: dose.x, y: middle + 4, class: "dose-words" }, dose.words));
  }
  return drawn;
}

const isFree = (used, from, to) => used.every((taken) => to <= taken[0] || from >= taken[1]);

// Whole words to the right, else to the left, else cut ones to the right.
function writeBeside(mark, words, used, scale) {
  const width = widthOf(words);
  const right = [mark.x + HALF, mark.x + HALF + GAP + width];
  if (right[1] <= scale.width && isFree(used, ...right)) {
    return { side: "right", words, taken: right };
  }
  const left = [mark.x - HALF - GAP - width, mark.x - HALF];
  if (left[0] >= 0 && isFree(used, ...left)) return { side: "left", words, taken: left };
  const next = Math.min(
    scale.width,
    ...used.filter((taken) => taken[0] >= mark.x).map((taken) => taken[0]),
  );
  const room = next - mark.x - HALF - 2 * GAP;
  const cut = room >= LEAST_WORDS && isFree(used, mark.x + HALF, next) ? fitted(words, room) : "";
  return cut.length > 3
    ? { side: "right", words: cut, taken: [mark.x + HALF, mark.x + HALF + GAP + room] }
    : null;
}

// The name of a track in the margin; the range of a curve below it, the dose of a drug beside it.
function drawName(track, y, height, left) {
  const made = node("g", { class: "track-name" });
  const room = left - 28;
  const middle = y + height / 2;
  const name = fitted(track.name, room);
  const text = node("text", { x: 20, y: track.points ? middle - 3 : y + ON_BAR + 4 }, name);
  text.append(node("title", {}, [track.name, track.words].filter(Boolean).join(", ")));
  made.append(text);
  if (!track.words) return made;
  const beside = room - widthOf(name) - 8;
  track.inName = !track.points && widthOf(track.words) <= beside;
  if (track.points || track.inName) {
    const at = track.points
      ? { x: 20, y: middle + 11 }
      : { x: 20 + widthOf(name) + 8, y: y + ON_BAR + 4 };
    made.append(node("text", { ...at, class: "range" }, fitted(track.words, room)));
  }
  return made;
}

function drawPlaces(course, scale, y) {
  const made = node("g", { class: "places" });
  for (const place of course) {
    if (!scale.shows(place.from, place.to)) continue;
    const x = scale.held(place.from);
    const width = Math.max(1, scale.held(place.to) - x - 1);
    made.append(
      node(
        "rect",
        { x, y, width, height: PLACE, rx: 3, class: `place-${place.kind}` },
        node("title", {}, place.words ? chosenOf(place.words) : place.name),
      ),
      node("text", { x: x + 6, y: y + 13 }, fitted(place.name, width - 10)),
    );
  }
  return made;
}
