// The note as text: code points and UTF-16 units, words, and the pieces between the ends of marks.
// Has no access to the page. A word includes its inner signs: "1.5", "follow-up", "patient's",
// "10/12". An emoji is a word; other signs belong to no word.
const RUN = String.raw`[\p{L}\p{N}][\p{L}\p{N}\p{M}]*`;
const EMOJI = String
  .raw`\p{Extended_Pictographic}[\p{Emoji_Modifier}\uFE0F\u200D\p{Extended_Pictographic}]*`;
const WORD = new RegExp(`${RUN}(?:[.,'’\\-/:]${RUN})*%?|${EMOJI}`, "gu");

// Offsets are stored in code points; scripts count UTF-16 units. Both tables are exact for every
// character.
export function indexed(text) {
  const pointAt = new Uint32Array(text.length + 1);
  const unitAt = [];
  let points = 0;
  for (let unit = 0; unit < text.length;) {
    const size = text.codePointAt(unit) > 0xffff ? 2 : 1;
    unitAt.push(unit);
    pointAt[unit] = points;
    if (size === 2) pointAt[unit + 1] = points;
    unit += size;
    points += 1;
  }
  unitAt.push(text.length);
  pointAt[text.length] = points;
  return {
    text,
    length: points,
    points: (unit) => pointAt[unit],
    units: (point) => unitAt[point],
    slice: (start, end) => text.slice(unitAt[start], unitAt[end]),
    words: [...text.matchAll(WORD)].map((match) => ({
      start: pointAt[match.index],
      end: pointAt[match.index + match[0].length],
    })),
  };
}

// The selection without white space at its ends; no character is separated from its accents.
export function tidied(note, start, end) {
  const at = (point) => note.slice(point, point + 1);
  while (start < end && /\s/u.test(at(start))) start += 1;
  while (end > start && /\s/u.test(at(end - 1))) end -= 1;
  if (start >= end) return null;
  const joined = (point) => /[\p{M}\u200D]/u.test(at(point)) || at(point - 1) === "\u200D";
  while (start > 0 && joined(start)) start -= 1;
  while (end < note.length && joined(end)) end += 1;
  return { start, end };
}

// The first word that ends after `point`, or the last word.
export function wordAt(note, point) {
  const index = note.words.findIndex((word) => word.end > point);
  return index < 0 ? note.words.length - 1 : index;
}

// One edge of a span moved by a word. `edge` is "start" or "end", `outward` whether the span grows.
// Null if the edge cannot move.
export function moved(note, span, edge, outward) {
  const { words } = note;
  if (edge === "start") {
    const to = outward
      ? words.findLast((word) => word.start < span.start)
      : words.find((word) => word.start > span.start);
    return to && to.start < span.end ? { start: to.start, end: span.end } : null;
  }
  const to = outward
    ? words.find((word) => word.end > span.end)
    : words.findLast((word) => word.end < span.end);
  return to && to.end > span.start ? { start: span.start, end: to.end } : null;
}

// Shorter spans are nearer to the text; spans that overlap never share a line.
export function levels(spans) {
  const taken = new Map();
  const placed = [];
  for (
    const span of [...spans].sort((a, b) =>
      a.end - a.start - (b.end - b.start) || a.start - b.start || (a.uid < b.uid ? -1 : 1)
    )
  ) {
    const used = new Set(
      placed.filter((other) => other.start < span.end && span.start < other.end).map((other) =>
        taken.get(other.uid)
      ),
    );
    let level = 0;
    while (used.has(level)) level += 1;
    taken.set(span.uid, level);
    placed.push(span);
  }
  return taken;
}

// Cuts [start, end) at each start and end of a span; each piece lists the spans over it, the
// shortest first.
export function pieces(start, end, spans) {
  const inside = spans.filter((span) => span.start < end && span.end > start);
  const cuts = new Set([start, end]);
  for (const span of inside) {
    for (const cut of [span.start, span.end]) if (cut > start && cut < end) cuts.add(cut);
  }
  const points = [...cuts].sort((a, b) => a - b);
  return points.slice(0, -1).map((from, at) => {
    const to = points[at + 1];
    const over = inside.filter((span) => span.start <= from && span.end >= to);
    return {
      start: from,
      end: to,
      spans: over.sort((a, b) => a.end - a.start - (b.end - b.start) || a.start - b.start),
    };
  });
}
