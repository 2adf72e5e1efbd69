// "1 step is stored", "2 steps are stored": a number with words that fit it.
export const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;
