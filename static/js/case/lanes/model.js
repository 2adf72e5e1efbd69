// What each lane has: the note's occurrences, and the tracks of the record on which some of them
// are drawn.

// At most this many tracks of a lane are drawn until it is opened fully.
const MOST_TRACKS = { medication: 10, lab: 8, vital: 5, procedure: 6 };
// Rows of words of a lane until it is opened fully.
const MOST_ROWS = { course: 2, finding: 5, procedure: 4 };
const ROWS = 3;
// Of one event in several notes of a chart the first occurrence is drawn.
const HAS_PLACE = (item) => item.x !== undefined && !item.hd;

export function buildLanes(data, tracks = []) {
  return data.lanes.map((lane, index) => {
    const own = data.items.filter((item) => item.l === index);
    const known = tracks.filter((track) => track.lane === lane.key)
      .map((track) => ({ ...track, items: [] }));
    const byKey = new Map(known.flatMap((track) => track.keys.map((key) => [key, track])));
    const loose = [];
    // A row that the time cites says more than the words: "reversal agent given" is andexanet.
    for (const track of known) for (const uid of track.uids ?? []) byKey.set(`=${uid}`, track);
    for (const item of own.filter(HAS_PLACE)) {
      const track = byKey.get(`=${item.u}`) ?? byKey.get(item.k);
      (track?.items ?? loose).push(item);
    }
    return { ...lane, index, loose, tracks: known };
  });
}

const reaches = (track, [start, end]) =>
  (track.runs ?? []).some(([from, to]) => to >= start && from <= end) ||
  (track.points ?? []).some(([x]) => x >= start && x <= end);
const isIn = (item, [start, end]) => item.x >= start && item.x <= end;

// The part of a lane that is drawn. `full`: everything that the record has; `group`: one class of
// drugs, or "".
export function visiblePart(lane, { window, full, group, keys }) {
  const wanted = (track) => !group || (track.classes ?? []).includes(group);
  const usable = lane.tracks.filter((track) =>
    wanted(track) && (reaches(track, window) || track.items.some((item) => isIn(item, window)))
  );
  const known = usable.filter((track) => full || group || track.named || track.lane === "vital");
  const most = full || group ? Infinity : MOST_TRACKS[lane.key] ?? Infinity;
  const best = new Set(
    [...known].sort((a, b) => Number(b.named) - Number(a.named) || b.items.length - a.items.length)
      .slice(0, most),
  );
  const tracks = known.filter((track) => best.has(track));
  if (tracks[0]?.runs) tracks.sort((a, b) => a.runs[0][0] - b.runs[0][0]);
  // Occurrences whose track has no room are drawn as words.
  const without = known.filter((track) => !best.has(track)).flatMap((track) => track.items);
  const loose = [...lane.loose, ...without].filter((item) =>
    isIn(item, window) && (!keys || keys.has(item.u))
  );
  return {
    loose,
    tracks,
    hidden: usable.length - tracks.length,
    rows: full ? Infinity : MOST_ROWS[lane.key] ?? ROWS,
  };
}

// The value of a curve at a position, between its neighbours; at its ends the nearest one.
export function valueAt(points, x) {
  const after = points.findIndex((point) => point[0] >= x);
  if (after === 0) return points[0][1];
  if (after < 0) return points.at(-1)[1];
  const [x0, y0] = points[after - 1];
  const [x1, y1] = points[after];
  return x1 === x0 ? y1 : y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}
