import assert from "node:assert/strict";
import { costs, ratings } from "../../static/js/adjudication/ratings.js";
import { uphold } from "../../static/js/adjudication/uphold.js";
import { dash, labels, name, PAPER, shape, text } from "../../static/js/evaluation/look.js";
import { PLOTS } from "../../static/js/evaluation/plots.js";

const SIZE = { width: 720, height: 440 };
const series = (more) => ({
  source: "rules",
  label: "rules · revised",
  kind: "revised",
  tone: 0,
  ...more,
});
const near = (a, b) => {
  assert.equal(a.length, b.length);
  a.forEach((one, at) => assert.ok(Math.abs(one - b[at]) < 1e-9, `[${a}] is not [${b}]`));
};

Deno.test("a long name of a source is cut, its kind never", () => {
  assert.equal(name(series()), "rules · revised");
  const source = "abcdefghijklmnopq";
  assert.equal(name(series({ source, label: `${source} · revised` })), "abcdefghijklmn… · revised");
});

Deno.test("names are text to the plotting library, never markup", () => {
  assert.equal(text("<b>&amp;"), "&lt;b&gt;&amp;amp;");
});

Deno.test("a timeline from the note alone is hollow and dotted", () => {
  const alone = series({ kind: "text_only", tone: 1 });
  assert.deepEqual([shape(alone), dash(alone)], ["square-open", "dot"]);
  assert.deepEqual([shape(series()), dash(series())], ["circle", "solid"]);
});

// The plot's area is 150 px high, a label 14: the second of two labels at the middle moves down.
Deno.test("labels at line ends are pushed apart", () => {
  const made = { height: 200, margin: { t: 20, b: 30 } };
  const end = { x: 1, y: 0.5, words: "a", color: "red" };
  labels(made, [end, { ...end, words: "b" }], [0, 1]);
  near(made.annotations.map((one) => one.y), [0.5, 1 - 89 / 150]);
});

Deno.test("labels that would leave the plot at the bottom all move up", () => {
  const made = { height: 200, margin: { t: 20, b: 30 } };
  const end = { x: 1, y: 0, words: "a", color: "red" };
  labels(made, [end, { ...end, words: "b" }], [0, 1]);
  near(made.annotations.map((one) => one.y), [14 / 150, 0]);
});

// Points are [threshold, recovery, concordance, AULTC, is the protocol's threshold].
Deno.test("a sweep leaves out points without values, and pads both axes", () => {
  const points = [
    [0.1, 0.5, 0.8, null, true],
    [0.2, 0.7, 0.9, null, false],
    [0.3, null, 0.9, null, false],
  ];
  const data = { recovery: "Recovery", sweep: [series({ points })] };
  const { data: [line, marked], layout } = PLOTS["sweep-concordance"](data, PAPER, SIZE);
  assert.deepEqual([line.x, line.y], [[0.5, 0.7], [0.8, 0.9]]);
  assert.deepEqual([marked.x, marked.y], [[0.5], [0.8]]);
  // Twelve per cent of 0.2 at the sides; of 0.1 that would be less than the least, 0.02.
  near(layout.xaxis.range, [0.476, 0.724]);
  near(layout.yaxis.range, [0.78, 0.92]);
  assert.equal(PLOTS["sweep-aultc"](data, PAPER, SIZE), null);
});

Deno.test("errors below three minutes share the left end", () => {
  const points = [[0.01, 0.1], [0.04, 0.3], [2, 0.6]];
  const data = { errors: [series({ points })], horizons: [[1, "1 h"]] };
  const { data: [line], layout } = PLOTS.errors(data, PAPER, SIZE);
  assert.deepEqual([line.x, line.y], [[0.05, 2], [0.3, 0.6]]);
  // The axis reaches a year, and a tenth more.
  near(layout.xaxis.range, [Math.log10(0.04), Math.log10(9636)]);
});

Deno.test("sources of one band are beside each other, and no error is below three minutes", () => {
  const bands = [
    series({ points: [["up to 1 day", 0, null, 3]] }),
    series({ points: [["up to 1 day", 4, 2, 8]] }),
  ];
  const { data: [first, second] } = PLOTS.bands({ bands }, PAPER, SIZE);
  near([first.x[0], second.x[0]], [-0.15, 0.15]);
  near([first.y[0], second.y[0]], [0.05, 4]);
  near([first.error_y.arrayminus[0], first.error_y.array[0]], [0, 2.95]);
  near([second.error_y.arrayminus[0], second.error_y.array[0]], [2, 4]);
});

Deno.test("a plot of correlations without any value is not drawn", () => {
  const data = { rho: [series({ points: { concordance: [[0, null, null, null]] } })] };
  assert.equal(PLOTS["rho-concordance"]({ ...data, rhoMetrics: [] }, PAPER, SIZE), null);
});

// Rows are [name, rating, lower, upper].
Deno.test("ratings: the first row is at the top, an unrated one is left out", () => {
  const data = {
    ratings: [["a", 1520, 1500, 1550], ["none", null, null, null], ["b", 1480, null, null]],
    without: [],
  };
  const { data: [trace, more], layout } = ratings(data, PAPER, SIZE);
  assert.deepEqual([trace.x, trace.y], [[1520, 1480], [1, 0]]);
  assert.deepEqual([trace.error_x.array, trace.error_x.arrayminus], [[30, 0], [20, 0]]);
  assert.deepEqual(layout.yaxis.ticktext, ["a", "b"]);
  assert.equal(more, undefined);
});

Deno.test("ratings without flagged charges are beside the row of their timeline", () => {
  const data = { ratings: [["a", 1520, 1, 2], ["b", 1480, 1, 2]], without: [["b", 1490, 1, 2]] };
  const { data: [, without] } = ratings(data, PAPER, SIZE);
  assert.deepEqual(without.x, [1490]);
  near(without.y, [-0.16]);
});

Deno.test("costs: a category that costs nothing is not drawn", () => {
  const data = { categories: ["missing", "late"], costs: [["a", [0.5, 0]], ["b", [1, 0]]] };
  const { data: traces } = costs(data, PAPER, SIZE);
  assert.deepEqual(traces.map((trace) => [trace.name, trace.x]), [["missing", [1, 0.5]]]);
});

Deno.test("uphold rates: totals are diamonds", () => {
  const rows = [["omission", 75, 60, 90], ["raw", 80, null, null], ["empty", null, null, null]];
  const { data: [trace] } = uphold({ rows }, PAPER, SIZE);
  assert.deepEqual(trace.marker.symbol, ["circle", "diamond"]);
  assert.deepEqual([trace.error_x.array, trace.error_x.arrayminus], [[15, 0], [15, 0]]);
  assert.equal(uphold({ rows: [] }, PAPER, SIZE), null);
});

Deno.test("the funnel has a bar for each source and step, with its counts", () => {
  const points = [[0.9, 36, 40], [0.6, 24, 40]];
  const data = {
    funnel: [
      { ...series(), points },
      { ...series({ source: "<b>", label: "<b> · revised", tone: 1 }), points },
    ],
    funnelSteps: ["Right row printed", "Right row cited"],
  };
  const made = PLOTS.funnel(data, PAPER, SIZE);
  assert.deepEqual(made.data.map((trace) => [trace.type, trace.name, trace.y]), [
    ["bar", "rules · revised", [0.9, 0.6]],
    ["bar", "&lt;b&gt; · revised", [0.9, 0.6]],
  ]);
  assert.equal(made.data[0].hovertext[1], "rules · revised<br>Right row cited: 24 of 40");
  assert.notEqual(made.data[0].marker.color, made.data[1].marker.color);
  assert.deepEqual(made.layout.xaxis.ticktext, ["Right row<br>printed", "Right row<br>cited"]);
  assert.equal(made.layout.barmode, "group");
  assert.equal(PLOTS.funnel({ funnel: [], funnelSteps: [] }, PAPER, SIZE), null);
});
