// The matching of a search's words with the text of rows.

// Text without case and accents, so that "Oedème" is found by "oedeme".
export const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

export const wordsOf = (text) => text.toLowerCase().split(/\s+/u).filter(Boolean);

// Whether the text contains every word, in any order, also inside other words.
export function hasWords(text, words) {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
}
