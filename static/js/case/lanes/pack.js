// Places marks with their words in rows so that nothing overlaps. The same input gives the same
// picture: marks go in order of rank, then of time, then of their number in the note.

const HALF = 7;
const GAP = 6;
// Marks without a row of their own are counted together if they are this near (pixels).
const NEAR = 36;

const isFree = (row, from, to) => row.every((used) => to <= used[0] || from >= used[1]);

export const byRank = (a, b) => b.rank - a.rank || a.x - b.x || a.n - b.n;

// The stretch that a mark takes with its words to the right, or to the left at the right edge.
function stretches(mark, width) {
  const right = [mark.x - HALF, mark.x + HALF + mark.width + GAP];
  const left = [mark.x - HALF - mark.width - GAP, mark.x + HALF];
  return [
    ...(right[1] <= width + GAP ? [{ side: "right", at: right }] : []),
    ...(left[0] >= 0 ? [{ side: "left", at: left }] : []),
  ];
}

// `marks` are {id, n, x, width, rank}: pixels, and the width of the words. Returns {placed: [{id, row,
// side, at}], rows, taken, rest: [{x, from, to, ids}]}; without a side a mark has no words.
export function pack(marks, { width, most }) {
  const rows = [];
  const placed = [];
  const bare = [];
  const take = (row, at) => {
    while (rows.length <= row) rows.push([]);
    rows[row].push(at);
  };
  const findRow = (at) => {
    for (let row = 0; row < most; row += 1) {
      if (!rows[row] || isFree(rows[row], at[0], at[1])) return row;
    }
    return -1;
  };
  for (const mark of [...marks].sort(byRank)) {
    let best = null;
    for (const { side, at } of stretches(mark, width)) {
      const row = findRow(at);
      if (row >= 0 && (!best || row < best.row)) best = { row, side, at };
    }
    if (best && mark.width) {
      take(best.row, best.at);
      placed.push({ id: mark.id, row: best.row, side: best.side, at: best.at });
    } else bare.push(mark);
  }
  const left = [];
  for (const mark of bare) {
    const at = [mark.x - HALF, mark.x + HALF];
    const row = findRow(at);
    if (row < 0) {
      left.push(mark);
      continue;
    }
    take(row, at);
    placed.push({ id: mark.id, row, at });
  }
  return { placed, rows: rows.length, taken: rows, rest: together(left) };
}

// The part of a stretch beside a mark that nothing else takes, away from its words; null if
// something does.
export function freeBeside([from, to], { x, side, at }, row) {
  if (!row.every((used) => used === at || to <= used[0] || from >= used[1])) return null;
  return [side === "left" ? x : from, side === "right" ? x : to];
}

// Groups marks that are near each other.
export function together(marks) {
  const groups = [];
  for (const mark of [...marks].sort((a, b) => a.x - b.x || a.n - b.n)) {
    const last = groups.at(-1);
    if (last && mark.x - last.from < NEAR) {
      last.ids.push(mark.id);
      last.to = mark.x;
    } else groups.push({ from: mark.x, to: mark.x, ids: [mark.id] });
  }
  return groups.map((group) => ({ ...group, x: (group.from + group.to) / 2 }));
}
