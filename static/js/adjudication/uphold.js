// The forest plot of uphold rates: one line per stratum, then the raw and the standardised rate,
// each with its interval.
import * as Look from "../evaluation/look.js";

export function uphold(data, look, size) {
  const rows = data.rows.filter((row) => row[1] !== null);
  if (!rows.length) return null;
  const colour = Look.tone(look, { tone: 0 });
  const at = (n) => rows.length - 1 - n;
  const total = (name) => name === "raw" || name === "standardised";
  const trace = {
    type: "scatter",
    mode: "markers",
    x: rows.map((row) => row[1]),
    y: rows.map((_, n) => at(n)),
    marker: {
      symbol: rows.map((row) => (total(row[0]) ? "diamond" : "circle")),
      size: 10,
      color: colour,
    },
    error_x: {
      type: "data",
      symmetric: false,
      color: colour,
      thickness: 1.5,
      width: 4,
      array: rows.map((row) => (row[3] ?? row[1]) - row[1]),
      arrayminus: rows.map((row) => row[1] - (row[2] ?? row[1])),
    },
    hoverinfo: "text",
    text: rows.map((row) => `${Look.text(row[0])}<br>${row[1].toFixed(1)} %`),
  };
  return {
    data: [trace],
    layout: Look.layout(look, size, {
      x: { words: "Upheld, %", range: [0, 101], dtick: 20 },
      y: {
        words: "",
        range: [-0.6, rows.length - 0.4],
        tickvals: rows.map((_, n) => at(n)),
        ticktext: rows.map((row) => row[0]),
        showgrid: false,
      },
    }),
  };
}
