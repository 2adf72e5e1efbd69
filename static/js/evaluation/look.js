// The look of an evaluation's plots: inks of the page or of paper, one colour and shape per source,
// one dash per kind, labels at line ends. Deuteranopes can distinguish the colours, which have a
// contrast of at least 3:1; shape and dash repeat what the colour shows.
const TONES = {
  light: ["#0062a3", "#b04400", "#00755a", "#8438a8", "#7a5b00", "#b8336f", "#455a64"],
  dark: ["#62b5ee", "#f2935a", "#40c9a4", "#cfa3ec", "#e2c350", "#f39cc3", "#b4c1c8"],
};
const SHAPES = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star"];
export const PAPER = {
  dark: false,
  ink: "#18222a",
  soft: "#505e68",
  line: "#d7dee3",
  ground: "#ffffff",
};
const LONGEST_SOURCE = 15;
const LABEL_HEIGHT = 14;
// Approximate width of a label's character in pixels.
const LETTER = 6.2;

export function page() {
  const style = getComputedStyle(document.body);
  const probe = document.body.appendChild(document.createElement("span"));
  const ink = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const look = {
    dark: style.colorScheme.includes("dark"),
    ink: ink("ink"),
    soft: ink("ink-soft"),
    line: ink("line"),
    ground: "rgba(0,0,0,0)",
  };
  probe.remove();
  const chosen = document.documentElement.dataset.theme;
  look.dark = chosen === "dark" ||
    (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  return look;
}

export const tone = (look, series) =>
  TONES[look.dark ? "dark" : "light"][series.tone % SHAPES.length];
export const shape = (series) =>
  SHAPES[series.tone % SHAPES.length] + (series.kind === "text_only" ? "-open" : "");
export const dash = (series) => (series.kind === "text_only" ? "dot" : "solid");
// Plotly interprets markup, so names of sources are escaped.
export const text = (words) =>
  words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
// "rules · revised": the name of a source is cut if it is long, its kind never.
export const name = (series) => {
  const letters = [...series.source];
  const source = letters.length > LONGEST_SOURCE
    ? `${letters.slice(0, LONGEST_SOURCE - 1).join("")}…`
    : series.source;
  return source + series.label.slice(series.source.length);
};

export function layout(look, size, axes) {
  const axis = (given) => ({
    gridcolor: look.line,
    linecolor: look.soft,
    tickcolor: look.soft,
    zeroline: false,
    showline: true,
    ticks: "outside",
    ticklen: 3,
    automargin: true,
    ...given,
    title: { text: given.words, standoff: 8, font: { size: 12, color: look.soft } },
  });
  return {
    width: size.width,
    height: size.height,
    margin: {
      l: 56,
      r: axes.labels ? labelRoom(axes.labels) : 16,
      t: axes.legend ? 40 : 12,
      b: 48,
    },
    paper_bgcolor: look.ground,
    plot_bgcolor: look.ground,
    hovermode: "closest",
    dragmode: false,
    showlegend: Boolean(axes.legend),
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 11 } },
    font: {
      family: "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif",
      size: 12,
      color: look.ink,
    },
    hoverlabel: {
      bgcolor: look.dark ? "#222a30" : "#ffffff",
      bordercolor: look.soft,
      font: { color: look.ink, size: 12 },
    },
    xaxis: { ...axis(axes.x), fixedrange: true },
    yaxis: { ...axis(axes.y), fixedrange: true },
    annotations: [],
    shapes: [],
  };
}

const labelRoom = (labels) => 20 + LETTER * Math.max(...labels.map((words) => words.length));

// Labels to the right of line ends, moved apart so that none overlaps another. `ends`: {x, y
// (data), words, color}; linear y axis. Without an x they are beside the plot.
export function labels(made, ends, range) {
  const room = made.height - made.margin.t - made.margin.b;
  const pixel = (y) => ((range[1] - y) / (range[1] - range[0])) * room;
  const placed = ends.map((end) => ({ ...end, at: pixel(end.y), want: pixel(end.y) })).sort((
    a,
    b,
  ) => a.at - b.at);
  placed.forEach((label, n) => {
    if (n) label.at = Math.max(label.at, placed[n - 1].at + LABEL_HEIGHT);
  });
  const over = placed.length ? Math.max(0, placed[placed.length - 1].at - room) : 0;
  for (const label of placed) label.at -= over;
  made.annotations = placed.map((label) => ({
    ...(label.x === undefined ? { xref: "paper", x: 1 } : { xref: "x", x: label.x }),
    xanchor: "left",
    xshift: 8,
    yref: "paper",
    y: 1 - label.at / room,
    yanchor: "middle",
    showarrow: false,
    text: text(label.words),
    font: { size: 11, color: label.color },
    align: "left",
  }));
}
