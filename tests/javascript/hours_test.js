import assert from "node:assert/strict";
import { hoursAsTyped, hoursInWords, parseHours } from "../../static/js/common/hours.js";

const READ = [
  ["-72", -72],
  ["−3 d 4 h", -76],
  ["+6.5 h", 6.5],
  ["6,5", 6.5],
  ["2 weeks before", -336],
  ["2 weeks after admission", 336],
  ["1 y", 8760],
  ["90 min", 1.5],
  ["30 m", 0.5],
  ["1 d 12 hrs", 36],
  ["N/A", null],
  ["  ", null],
];
for (const [typed, hours] of READ) {
  Deno.test(`"${typed}" is read as ${hours}`, () => assert.equal(parseHours(typed), hours));
}

for (const typed of ["soon", "3 lightyears", "-", "before", "day 3"]) {
  Deno.test(`"${typed}" is no time`, () => assert.equal(parseHours(typed), NaN));
}

Deno.test("hours in words: years, days from two on, hours", () => {
  assert.equal(hoursInWords(-8760), "−1 y");
  assert.equal(hoursInWords(13140), "+1.5 y");
  assert.equal(hoursInWords(-76), "−3.2 d");
  assert.equal(hoursInWords(47.5), "+47.5 h");
  assert.equal(hoursInWords(48), "+2 d");
  assert.equal(hoursInWords(0), "+0 h");
});

Deno.test("hours as typed: whole days from two on, else hours to the thousandth", () => {
  assert.equal(hoursAsTyped(null), "");
  assert.equal(hoursAsTyped(-72), "-3 d");
  assert.equal(hoursAsTyped(48), "+2 d");
  assert.equal(hoursAsTyped(24), "+24 h");
  assert.equal(hoursAsTyped(73), "+73 h");
  assert.equal(hoursAsTyped(1 / 3), "+0.333 h");
});

Deno.test("what is written as typed is read as the same hours", () => {
  for (const hours of [-8760, -336, -72, -0.5, 0, 1.25, 24, 48, 500]) {
    assert.equal(parseHours(hoursAsTyped(hours)), hours);
  }
});
