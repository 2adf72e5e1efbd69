import assert from "node:assert/strict";
import { folded, hasWords, wordsOf } from "../../static/js/common/filter.js";

Deno.test("case and accents do not matter", () => {
  assert.equal(folded("Oedème"), "oedeme");
  assert.equal(folded("oede\u0300me"), "oedeme");
  assert.equal(folded("H₂O ÉTAT"), "h2o etat");
});

Deno.test("every word must occur, in any order and inside other words", () => {
  assert.equal(hasWords("Heparin infusion", wordsOf("infus HEP")), true);
  assert.equal(hasWords("Heparin infusion", wordsOf("heparin bolus")), false);
});

Deno.test("a search without words shows everything", () => {
  assert.deepEqual(wordsOf(" \t "), []);
  assert.equal(hasWords("Heparin", []), true);
});
