// Ranges of the note's text, by code points as the server counts or by places of a found word.
import { folded } from "../common/filter.js";

function textNodes(body) {
  const nodes = [];
  for (const part of body.querySelectorAll(".note-text")) {
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) nodes.push(node);
  }
  return nodes;
}

// The range from a code point to another one, end-exclusive; null if the note is shorter.
export function rangeOfPoints(body, start, end) {
  const range = document.createRange();
  let at = 0;
  for (const node of textNodes(body)) {
    const letters = [...node.data];
    const unit = (point) => letters.slice(0, point - at).join("").length;
    if (start >= at && start < at + letters.length) range.setStart(node, unit(start));
    if (end > at && end <= at + letters.length) {
      range.setEnd(node, unit(end));
      return range;
    }
    at += letters.length;
  }
  return null;
}

// Finds words in the note in any case and with or without accents. The text is folded once.
export function createFinder(body) {
  const nodes = textNodes(body);
  const places = [];
  let text = "";
  nodes.forEach((node, index) => {
    for (let unit = 0; unit < node.data.length; unit += 1) {
      for (const letter of folded(node.data[unit])) {
        text += letter;
        places.push([index, unit]);
      }
    }
  });
  return (wanted, most = 2000) => {
    const found = [];
    let at = text.indexOf(wanted);
    while (wanted && at >= 0 && found.length < most) {
      const [first, start] = places[at];
      const [last, end] = places[at + wanted.length - 1];
      const range = document.createRange();
      range.setStart(nodes[first], start);
      range.setEnd(nodes[last], end + 1);
      found.push(range);
      at = text.indexOf(wanted, at + wanted.length);
    }
    return found;
  };
}
