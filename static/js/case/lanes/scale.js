// Shares of the page's axis as pixels of the drawing, for the chosen window.

export function createScale([start, end], left, width) {
  const of = (share) => left + ((share - start) / (end - start)) * width;
  return {
    left,
    right: left + width,
    width,
    of,
    // Within the drawing.
    held: (share) => Math.min(left + width, Math.max(left, of(share))),
    back: (x) => start + ((x - left) / width) * (end - start),
    shows: (from, to = from) => to >= start && from <= end,
  };
}
