// The plot of an as-of report: a bar for each kind and concept, a part for each state.
import { drawFigures } from "../../evaluation/figures.js";
import * as Look from "../../evaluation/look.js";

// Order and hatching are those of the table's columns: colour is not the only sign.
const PATTERNS = { known: "", later: "/", not_yet: ".", uncertain: "x" };
const TONE = { known: 2, later: 1, not_yet: 6, uncertain: 3 };
const LONGEST = 24;

function cut(words) {
  const letters = [...words];
  return Look.text(letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}…` : words);
}

function widest(data) {
  const totals = [data, data.beside].flatMap((side) => side?.states[0].totals ?? []);
  return 1.03 * Math.max(1, ...totals);
}

function states(data, look, size) {
  if (!data.groups.length) return null;
  const places = data.groups.map((_, at) => at);
  const traces = data.states.map((state) => ({
    type: "bar",
    orientation: "h",
    name: Look.text(state.words.split(":")[0]),
    y: places,
    x: state.counts,
    marker: {
      color: Look.tone(look, { tone: TONE[state.name] }),
      pattern: { shape: PATTERNS[state.name], fillmode: "overlay", fgcolor: look.ink },
    },
    hoverinfo: "text",
    hovertext: places.map((at) =>
      `${Look.text(data.groups[at])}<br>${Look.text(state.words)}: ${state.counts[at]} of ${
        state.totals[at]
      }`
    ),
  }));
  const made = Look.layout(look, size, {
    legend: true,
    // Both sides have the scale of the larger one.
    x: { words: "Occurrences", range: [0, widest(data)] },
    y: {
      words: "",
      range: [data.groups.length - 0.5, -0.5],
      tickvals: places,
      ticktext: data.groups.map(cut),
      showgrid: false,
    },
  });
  const legend = { ...made.legend, traceorder: "normal" };
  return { data: traces, layout: { ...made, legend, barmode: "stack", bargap: 0.3 } };
}

const beside = ({ beside: other, ...data }, ...more) => states({ ...other, beside: data }, ...more);

drawFigures({ "as-of": states, beside });
