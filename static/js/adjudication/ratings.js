// Plots of a judge run: a forest plot of ratings, and the cost of errors per matchup by category.
import * as Look from "../evaluation/look.js";

const LONGEST = 26;
const MARK = " · ";
// "rules · revised": the name of a source is cut if it is long, its kind never.
const short = (words) => {
  const at = words.lastIndexOf(MARK);
  const [letters, kind] = at < 0 ? [[...words], ""] : [[...words.slice(0, at)], words.slice(at)];
  const room = LONGEST - kind.length;
  return Look.text(
    (letters.length > room ? `${letters.slice(0, room - 1).join("")}…` : letters.join("")) + kind,
  );
};

export function ratings(data, look, size) {
  const rows = data.ratings.filter((row) => row[1] !== null);
  if (!rows.length) return null;
  const without = new Map(
    data.without.filter((row) => row[1] !== null).map((row) => [row[0], row]),
  );
  const at = (n) => rows.length - 1 - n;
  const trace = (name, points, tone, symbol, shift) => ({
    type: "scatter",
    mode: "markers",
    name,
    x: points.map(([row]) => row[1]),
    y: points.map(([, n]) => at(n) + shift),
    marker: { symbol, size: 10, color: Look.tone(look, { tone }) },
    error_x: {
      type: "data",
      symmetric: false,
      color: Look.tone(look, { tone }),
      thickness: 1.5,
      width: 4,
      array: points.map(([row]) => (row[3] ?? row[1]) - row[1]),
      arrayminus: points.map(([row]) => row[1] - (row[2] ?? row[1])),
    },
    hoverinfo: "text",
    text: points.map(([row]) => `${Look.text(row[0])}<br>${row[1].toFixed(0)}`),
  });
  const traces = [
    trace("all charges", rows.map((row, n) => [row, n]), 0, "circle", without.size ? 0.12 : 0),
  ];
  if (without.size) {
    traces.push(
      trace(
        "without flagged",
        rows.map((row, n) => [without.get(row[0]), n]).filter(([row]) => row),
        1,
        "diamond-open",
        -0.16,
      ),
    );
  }
  const layout = Look.layout(look, size, {
    legend: without.size > 0,
    x: { words: "Rating" },
    y: {
      words: "",
      range: [-0.6, rows.length - 0.4],
      tickvals: rows.map((_, n) => at(n)),
      ticktext: rows.map((row) => short(row[0])),
      showgrid: false,
    },
  });
  layout.shapes = [{
    type: "line",
    xref: "x",
    yref: "paper",
    x0: 1500,
    x1: 1500,
    y0: 0,
    y1: 1,
    line: { color: look.soft, width: 1, dash: "dot" },
  }];
  return { data: traces, layout };
}

export function costs(data, look, size) {
  if (!data.costs.length) return null;
  const rows = [...data.costs].reverse();
  const used = data.categories.map((words, n) => [words, n]).filter(([, n]) =>
    rows.some((row) => row[1][n] > 0)
  );
  const traces = used.map(([words, n]) => ({
    type: "bar",
    orientation: "h",
    name: words,
    x: rows.map((row) => row[1][n]),
    y: rows.map((row) => short(row[0])),
    marker: {
      color: Look.tone(look, { tone: n }),
      line: { color: look.dark ? "#14191d" : "#ffffff", width: 1 },
    },
    hoverinfo: "text",
    text: rows.map((row) => `${Look.text(row[0])}<br>${words}: ${row[1][n].toFixed(2)}`),
    textposition: "none",
  }));
  const layout = Look.layout(look, size, {
    legend: true,
    x: { words: "Points per matchup" },
    y: { words: "", showgrid: false },
  });
  layout.legend.traceorder = "normal";
  return { data: traces, layout: { ...layout, barmode: "stack", bargap: 0.35 } };
}
