// The plots of a trajectory page: name → (data, look, size) → { data, layout } for Plotly, or null.
// The server computes the numbers. A click on a mark or a line opens its stay.
import { drawFigures } from "../evaluation/figures.js";
import * as Look from "../evaluation/look.js";

const LANE = { least: 6, most: 9 };
const series = (names) =>
  new Map(names.map((name, tone) => [name, { tone, kind: "", source: name }]));
const hours = (data, words = `Hours from ${data.zero}`) => ({ words, range: data.range });

function lanes(data, look, size) {
  const { stays, marks } = data.lanes;
  if (!stays.length) return null;
  const height = Math.max(size.height, 60 + stays.length * LANE.least);
  const made = Look.layout(look, { ...size, height }, {
    legend: true,
    x: hours(data),
    y: { words: "Stay", autorange: "reversed", showticklabels: false, ticks: "" },
  });
  const ends = { x: [], y: [], of: [] };
  stays.forEach((stay, lane) => {
    ends.x.push(stay.start, stay.end ?? data.range[1], null);
    ends.y.push(lane, lane, null);
    ends.of.push(lane, lane, null);
  });
  const line = {
    type: "scatter",
    mode: "lines",
    x: ends.x,
    y: ends.y,
    customdata: ends.of,
    hovertext: ends.of.map((lane) => lane === null ? "" : Look.text(stays[lane].title)),
    hoverinfo: "text",
    line: { color: look.line, width: Math.min(LANE.most, Math.max(2, height / stays.length / 3)) },
    showlegend: false,
  };
  const names = data.names.filter((name) => marks.some((mark) => mark[1] === name));
  const tones = series(data.names);
  const points = names.map((name) => {
    const own = marks.filter((mark) => mark[1] === name);
    return {
      type: "scatter",
      mode: "markers",
      name: Look.text(name),
      x: own.map((mark) => mark[2]),
      y: own.map((mark) => mark[0]),
      customdata: own.map((mark) => mark[0]),
      hovertext: own.map((mark) =>
        `${Look.text(name)}: ${mark[2].toFixed(1)} h<br>${Look.text(stays[mark[0]].title)}`
      ),
      hoverinfo: "text",
      marker: {
        color: Look.tone(look, tones.get(name)),
        symbol: Look.shape(tones.get(name)),
        size: 7,
      },
    };
  });
  return { data: [line, ...points], layout: made };
}

function density(data, look, size) {
  const names = data.names.filter((name) => data.density.some((row) => row[0] === name));
  const tones = series(data.names);
  const made = Look.layout(look, size, {
    legend: true,
    x: hours(data),
    y: { words: "Occurrences", rangemode: "tozero" },
  });
  made.barmode = "group";
  return {
    data: names.map((name) => {
      const own = data.density.filter((row) => row[0] === name);
      return {
        type: "bar",
        name: Look.text(name),
        x: own.map((row) => row[1] + data.step / 2),
        y: own.map((row) => row[2]),
        width: data.step / names.length * 0.9,
        marker: { color: Look.tone(look, tones.get(name)) },
        hovertemplate: "%{y} at %{x:.1f} h<extra></extra>",
      };
    }),
    layout: made,
  };
}

function curve(data, look, size) {
  if (!data.curve.length) return null;
  const at = data.curve.map((row) => row[0] + data.step / 2);
  const made = Look.layout(look, size, { x: hours(data), y: { words: "Value" } });
  const ink = Look.tone(look, { tone: 0 });
  const edge = (place, more) => ({
    type: "scatter",
    mode: "lines",
    x: at,
    y: data.curve.map((row) => row[place]),
    line: { color: ink, width: 0.5 },
    hoverinfo: "skip",
    ...more,
  });
  return {
    data: [
      edge(1, {}),
      edge(3, { fill: "tonexty", fillcolor: `${ink}33` }),
      edge(2, { mode: "lines+markers", line: { color: ink, width: 2 }, hoverinfo: "x+y" }),
    ],
    layout: made,
  };
}

function changes(data, look, size) {
  if (!data.changes.length) return null;
  const made = Look.layout(look, size, {
    x: {
      words: "",
      range: [-0.3, 1.3],
      tickvals: [0, 1],
      ticktext: ["Last before", "First after"],
    },
    y: { words: "Value" },
  });
  const x = data.changes.flatMap(() => [0, 1, null]);
  const y = data.changes.flatMap((pair) => [...pair, null]);
  const line = {
    type: "scatter",
    mode: "lines+markers",
    x,
    y,
    hoverinfo: "y",
    line: { color: Look.tone(look, { tone: 0 }), width: 1 },
    marker: { size: 5 },
  };
  return { data: [line], layout: made };
}

function survival(data, look, size) {
  if (!data.survival.length) return null;
  const made = Look.layout(look, size, {
    legend: true,
    x: { words: `Hours from ${data.zero}`, rangemode: "tozero" },
    y: { words: "Share without the event", range: [0, 1.02] },
  });
  const drawn = data.survival.flatMap((group, tone) => {
    const ink = Look.tone(look, { tone });
    const edge = (y, more) => ({
      type: "scatter",
      mode: "lines",
      x: group.t,
      y,
      line: { color: ink, width: 1.75, shape: "hv" },
      name: Look.text(group.group),
      ...more,
    });
    return [
      edge(group.low, { showlegend: false }),
      edge(group.high, { fill: "tonexty", fillcolor: `${ink}26` }),
    ];
  });
  return { data: drawn, layout: made };
}

// A click on a mark or a line of the lanes opens its stay.
function openOnClick(name, stays) {
  const figure = document.querySelector(`[data-figure="${name}"]`);
  figure?.addEventListener("figuredrawn", () => {
    figure.querySelector("[data-plot]").on("plotly_click", ({ points }) => {
      const lane = points[0]?.customdata;
      if (lane !== undefined && lane !== null) location.href = stays[lane].url;
    });
  }, { once: true });
}

// The values that an axis has to show on both sides.
const extents = {
  curve: (data) => data.curve.flatMap((row) => [row[1], row[3]]),
  changes: (data) => data.changes.flat(),
  density: (data) => [0, ...data.density.map((row) => row[2])],
};

// Draws the second side by the same function, and both on one scale.
function onOneScale(name, draw, isBeside) {
  return (data, look, size) => {
    const made = draw(isBeside ? data.beside : data, look, size);
    if (!made || !data.beside || !extents[name]) return made;
    const values = [data, data.beside].flatMap(extents[name]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = 0.05 * (high - low || 1);
    made.layout.yaxis = { ...made.layout.yaxis, range: [low - (low ? room : 0), high + room] };
    return made;
  };
}

const payload = JSON.parse(document.getElementById("evaluation-data").textContent);
openOnClick("lanes", payload.lanes.stays);
if (payload.beside) openOnClick("beside-lanes", payload.beside.lanes.stays);
const plots = Object.entries({ lanes, density, curve, changes, survival });
drawFigures(Object.fromEntries(plots.flatMap(([name, draw]) => [
  [name, onOneScale(name, draw, false)],
  [`beside-${name}`, onOneScale(name, draw, true)],
])));
