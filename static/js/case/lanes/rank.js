// Which words are written first if there is no room for all of them.

const STATUS = { corrected: 3, moved: 3, explicit: 1, unspecified: 0.5, inferred: 0 };
const FAR_CHANGE = 3;
const DENIED = -2;
const REPEATED = -1.5;

// `first`: the item is the first of its words in the lane.
export function rankOf(item, { first = true, hit = false, selected = false } = {}) {
  return (STATUS[item.s] ?? 0) + (item.f ? FAR_CHANGE : 0) + (item.a === 1 ? DENIED : 0) +
    (first ? 0 : REPEATED) + (hit ? 100 : 0) + (selected ? 1000 : 0);
}
