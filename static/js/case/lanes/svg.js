// Building SVG, and the widths of words in it.
// The margin at the right of every drawing, for marks at its edge.
export const EDGE = 12;
const SVG = "http://www.w3.org/2000/svg";

export function node(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// Widths are measured once for each text: a canvas needs no layout of the page.
const widths = new Map();
let pen = null;

export function widthOf(words) {
  if (!widths.has(words)) {
    if (!pen) {
      pen = document.createElement("canvas").getContext("2d");
      pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    }
    widths.set(words, pen.measureText(words).width);
  }
  return widths.get(words);
}

// The words, cut with "…" if they are wider than `most` pixels.
export function fitted(words, most) {
  if (widthOf(words) <= most) return words;
  let low = 0;
  let high = words.length;
  while (low < high) {
    const half = Math.ceil((low + high) / 2);
    if (widthOf(`${words.slice(0, half)}…`) <= most) low = half;
    else high = half - 1;
  }
  return low ? `${words.slice(0, low).trimEnd()}…` : "";
}
