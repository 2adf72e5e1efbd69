// The plots of an evaluation: name → (data, look, size) → { data, layout } for Plotly. The server
// computes the numbers.
import * as Look from "./look.js";

const LEAST_HOURS = 0.05;
const HOURS = [
  [LEAST_HOURS, "≤ 3 min"],
  [1, "1 h"],
  [6, "6 h"],
  [24, "1 d"],
  [168, "1 wk"],
  [720, "1 mo"],
  [8760, "1 y"],
  [87600, "10 y"],
];

function padded(values, least = 0.02) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const air = Math.max(least, (high - low) * 0.12);
  return [low - air, high + air];
}

const line = (look, series, points, more) => ({
  type: "scatter",
  mode: "lines",
  x: points.map((p) => p[0]),
  y: points.map((p) => p[1]),
  hoverinfo: "skip",
  line: { color: Look.tone(look, series), width: 1.75, dash: Look.dash(series) },
  ...more,
});

/** The interval of each point [x, y, low, high], as bars. */
const intervals = (look, series, points) => ({
  type: "data",
  symmetric: false,
  array: points.map((p) => (p[3] ?? p[1]) - p[1]),
  arrayminus: points.map((p) => p[1] - (p[2] ?? p[1])),
  color: Look.tone(look, series),
  thickness: 1,
  width: 0,
});

// Curves, each with its label at its end.
function curves(look, size, drawn, axes) {
  const values = drawn.flatMap((d) => d.points.map((p) => p[1])).filter((v) => v !== null);
  const range = axes.y.range || padded(values);
  const made = Look.layout(look, size, {
    ...axes,
    labels: drawn.map((d) => Look.name(d.series)),
    y: { ...axes.y, range },
  });
  const ends = drawn.map((d) => {
    const last = d.points.filter((p) => p[1] !== null).at(-1);
    return {
      x: axes.x.type === "log" ? undefined : last[0],
      y: last[1],
      words: Look.name(d.series),
      color: Look.tone(look, d.series),
    };
  });
  Look.labels(made, ends, range);
  return made;
}

function sweep(column, words) {
  return (data, look, size) => {
    const drawn = data.sweep.map((series) => ({
      series,
      points: series.points.filter((p) => p[1] !== null && p[column] !== null).map((
        p,
      ) => [p[1], p[column], p[0], p[4]]),
    })).filter((d) => d.points.length);
    if (!drawn.length) return null;
    const traces = [];
    for (const { series, points } of drawn) {
      const labels = points.map((p) =>
        `${Look.text(Look.name(series))}<br>threshold ${p[2].toFixed(2)}: ${p[0].toFixed(3)}, ${
          p[1].toFixed(3)
        }`
      );
      traces.push(line(look, series, points, { hoverinfo: "text", text: labels }));
      const marked = points.filter((p) => p[3]);
      traces.push({
        type: "scatter",
        mode: "markers",
        x: marked.map((p) => p[0]),
        y: marked.map((p) => p[1]),
        hoverinfo: "skip",
        marker: {
          symbol: Look.shape(series),
          size: 10,
          color: Look.tone(look, series),
          line: { width: 1.75, color: Look.tone(look, series) },
        },
      });
    }
    const x = padded(drawn.flatMap((d) => d.points.map((p) => p[0])));
    return {
      data: traces,
      layout: curves(look, size, drawn, { x: { words: data.recovery, range: x }, y: { words } }),
    };
  };
}

// Errors of a few minutes share the left end.
function visible(points) {
  const small = points.filter(([hours]) => hours <= LEAST_HOURS).at(-1);
  return [
    ...(small ? [[LEAST_HOURS, small[1]]] : []),
    ...points.filter(([hours]) => hours > LEAST_HOURS),
  ];
}

function errors(data, look, size) {
  if (!data.errors.length) return null;
  const drawn = data.errors.map((series) => ({ series, points: visible(series.points) }));
  const traces = drawn.map(({ series, points }) =>
    line(look, series, points, {
      hoverinfo: "text",
      text: points.map((p) =>
        `${Look.text(Look.name(series))}<br>${(100 * p[1]).toFixed(1)} % within ${
          p[0].toPrecision(3)
        } h`
      ),
      line: { color: Look.tone(look, series), width: 1.75, dash: Look.dash(series), shape: "hv" },
    })
  );
  const furthest = Math.max(8760, ...drawn.flatMap((d) => d.points.map((p) => p[0])));
  const ticks = [[LEAST_HOURS, "≤ 3 min"], ...data.horizons];
  const x = {
    words: "Error",
    type: "log",
    range: [Math.log10(LEAST_HOURS * 0.8), Math.log10(furthest * 1.1)],
    tickvals: ticks.map((t) => t[0]),
    ticktext: ticks.map((t) => t[1]),
  };
  return {
    data: traces,
    layout: curves(look, size, drawn, { x, y: { words: "Share of pairs", range: [0, 1.02] } }),
  };
}

function bands(data, look, size) {
  if (!data.bands.length) return null;
  const groups = data.bands[0].points.map((p) => p[0]);
  const step = 0.6 / data.bands.length;
  const traces = data.bands.map((series, n) => {
    const shown = series.points.map((p, at) => [at, ...p.slice(1)]).filter((p) => p[1] !== null);
    const y = shown.map((p) => Math.max(p[1], LEAST_HOURS));
    const from = (
      value,
      at,
    ) => (value === null ? 0 : Math.abs(Math.max(value, LEAST_HOURS) - y[at]));
    return {
      type: "scatter",
      mode: "markers",
      name: Look.text(Look.name(series)),
      x: shown.map((p) => p[0] + (n - (data.bands.length - 1) / 2) * step),
      y,
      marker: {
        symbol: Look.shape(series),
        size: 8,
        color: Look.tone(look, series),
        line: { width: 1.5, color: Look.tone(look, series) },
      },
      error_y: {
        type: "data",
        symmetric: false,
        array: shown.map((p, at) => from(p[3], at)),
        arrayminus: shown.map((p, at) => from(p[2], at)),
        color: Look.tone(look, series),
        thickness: 1.25,
        width: 0,
      },
      hoverinfo: "text",
      text: shown.map((p) => `${Look.text(Look.name(series))}<br>${p[1].toPrecision(3)} h`),
    };
  });
  const short = groups.map((words) =>
    words.replace(" from admission", "").replace("more than", "over").replace(" to ", "<br>to ")
      .replace("up to ", "up<br>to ")
  );
  return {
    data: traces,
    layout: Look.layout(look, size, {
      legend: true,
      x: {
        words: "Reference: time from admission",
        range: [-0.5, groups.length - 0.5],
        tickvals: groups.map((_, at) => at),
        ticktext: short,
        showgrid: false,
      },
      y: {
        words: "Median error",
        type: "log",
        tickvals: HOURS.map((t) => t[0]),
        ticktext: HOURS.map((t) => t[1]),
      },
    }),
  };
}

// One point per tenth of the closed bounds, at their median width. The dashed line is the share
// that bounds are meant to contain.
function reliability(data, look, size) {
  if (!data.reliability.length) return null;
  const drawn = data.reliability.map((series) => ({
    series,
    points: series.points.map(([width, ...rest]) => [Math.max(width, LEAST_HOURS), ...rest]),
  }));
  const traces = drawn.map(({ series, points }) =>
    line(look, series, points, {
      mode: "lines+markers",
      name: Look.text(Look.name(series)),
      marker: { symbol: Look.shape(series), size: 8 },
      hoverinfo: "text",
      text: points.map((p) =>
        `${Look.text(Look.name(series))}<br>${p[5].toPrecision(3)} to ${
          p[6].toPrecision(3)
        } h wide: ${p[1].toFixed(3)} of ${p[4]}`
      ),
      error_y: intervals(look, series, points),
    })
  );
  const widest = Math.max(24, ...drawn.flatMap((d) => d.points.map((p) => p[0])));
  const shown = HOURS.filter((t) => t[0] <= widest * 1.2);
  const made = Look.layout(look, size, {
    legend: true,
    x: {
      words: "Median width of bounds",
      type: "log",
      range: [Math.log10(LEAST_HOURS * 0.8), Math.log10(widest * 1.2)],
      tickvals: shown.map((t) => t[0]),
      ticktext: shown.map((t) => t[1]),
    },
    y: {
      words: "Coverage of bounds",
      range: [0, 1.02],
      tickvals: [0, 0.25, 0.5, 0.75, data.nominal],
    },
  });
  made.shapes = [{
    type: "line",
    xref: "paper",
    x0: 0,
    x1: 1,
    y0: data.nominal,
    y1: data.nominal,
    line: { color: look.soft, width: 1.25, dash: "dash" },
  }];
  return { data: traces, layout: made };
}

// One bar per source and step. Bars have no markers, so each source has a label in the legend.
function funnel(data, look, size) {
  if (!data.funnel.length) return null;
  const traces = data.funnel.map((series) => ({
    type: "bar",
    name: Look.text(Look.name(series)),
    x: data.funnelSteps.map((_, at) => at),
    y: series.points.map((p) => p[0]),
    marker: { color: Look.tone(look, series) },
    hoverinfo: "text",
    hovertext: series.points.map((p, at) =>
      `${Look.text(Look.name(series))}<br>${data.funnelSteps[at]}: ${p[1]} of ${p[2]}`
    ),
  }));
  const made = Look.layout(look, size, {
    legend: true,
    x: {
      words: "",
      range: [-0.5, data.funnelSteps.length - 0.5],
      tickvals: data.funnelSteps.map((_, at) => at),
      ticktext: data.funnelSteps.map((words) => Look.text(words).replace(/ (?=\S+$)/, "<br>")),
      showgrid: false,
    },
    y: { words: "Share of occurrences", range: [0, 1.02] },
  });
  return { data: traces, layout: { ...made, barmode: "group", bargap: 0.3 } };
}

function rho(metric) {
  return (data, look, size) => {
    const drawn = data.rho.map((series) => ({
      series,
      points: series.points[metric].filter((p) => p[1] !== null),
    })).filter((d) => d.points.length);
    if (!drawn.length) return null;
    const words = data.rhoMetrics.find(([name]) => name === metric)[1];
    const traces = drawn.map(({ series, points }) =>
      line(look, series, points, {
        mode: "lines+markers",
        marker: { symbol: Look.shape(series), size: 8 },
        hoverinfo: "text",
        text: points.map((p) => `ρ ${p[0]}: ${p[1].toFixed(3)}`),
        error_y: intervals(look, series, points),
      })
    );
    const range = padded(
      drawn.flatMap((d) => d.points.flatMap((p) => p.slice(1))).filter((v) => v !== null),
    );
    return {
      data: traces,
      layout: curves(look, size, drawn, {
        x: { words: "ρ", range: [-0.02, 0.52] },
        y: { words, range },
      }),
    };
  };
}

export const PLOTS = {
  "sweep-concordance": sweep(2, "Concordance"),
  "sweep-aultc": sweep(3, "AULTC"),
  errors,
  bands,
  reliability,
  funnel,
  "rho-concordance": rho("concordance"),
  "rho-aultc": rho("aultc"),
};
