// The marks of two timelines on the case page's plot: A round, B square, and a line between them,
// which is thicker if they differ beyond tolerance.
import { addTraces } from "./plot.js";

addTraces(({ placed, lines, dots, inkOf }) => {
  const both = placed.filter((item) => item.a?.x !== undefined && item.b?.x !== undefined);
  const ends = (item) => [item.a.x, item.b.x];
  const reported = placed.filter((item) => item.f);
  const far = both.filter((item) => item.s === "differs");
  const rings = (side) => reported.filter((item) => item[side]?.x !== undefined);
  // A is drawn a little above the line and B a little below it, so that close marks do not hide
  // each other.
  const close = (item) =>
    item.a?.x !== undefined && item.b?.x !== undefined && Math.abs(item.a.x - item.b.x) < 0.014;
  const ring = { symbol: "circle-open", size: 14, color: inkOf("soft"), line: { width: 1.25 } };
  const mark = (side, symbol, size) => {
    const of = placed.filter((item) => item[side]?.x !== undefined);
    const alone = of.map((item) => item.s === `only-${side}`);
    const ink = inkOf(`side-${side}`);
    // Rows that only one side has are hollow.
    const marker = {
      symbol: alone.map((one) => (one ? `${symbol}-open` : symbol)),
      size,
      color: ink,
      line: { width: 1.75, color: ink },
    };
    const made = dots(of, (item) => item[side].x, marker);
    const aside = side === "a" ? -0.19 : 0.19;
    return { ...made, y: made.y.map((y, index) => (close(of[index]) ? y + aside : y)) };
  };
  document.querySelector("[data-plot]").dataset.far = far.length;
  return [
    lines(both.filter((item) => item.s === "agrees"), ends, { color: inkOf("line"), width: 1.5 }),
    lines(far, ends, { color: inkOf("soft"), width: 2.5 }),
    dots(rings("a"), (item) => item.a.x, ring),
    dots(rings("b"), (item) => item.b.x, ring),
    mark("b", "square", 6.5),
    mark("a", "circle", 7.5),
  ];
});
