// The plot of two timelines: lanes by kind, for each row a mark of A (round) and of B (square), and a
// line between them, which is thicker if they differ beyond tolerance. The server computes the
// positions.
import { element } from "../common/dom.js";
import { chosenClock, chosenOf } from "../common/moment.js";
import { hideTip, showTip } from "../case/lanes/tip.js";
import * as Case from "../case/state.js";
import { fittingTicks } from "../case/window.js";

const { items, data, state } = Case;
const canvas = Case.find("[data-plot]");
const body = Case.find("[data-plot-body]");
const scroller = Case.find("[data-plot-scroll]");
const axis = Case.find("[data-axis]");
const laneColumn = Case.find("[data-lanes]");
const ROW = { least: 9, most: 16 };
const collapsed = new Set(Case.remembered.get("collapsed", []));
const guide = body.appendChild(element("div", "plot-guide"));
const ring = body.appendChild(element("div", "plot-ring"));
const hovered = body.appendChild(element("div", "plot-pointer"));
guide.hidden = ring.hidden = hovered.hidden = true;
let layout = null;
let shownTicks = [];
let pointed = null;

// Whether a mark of the row is in the window.
function shows(item) {
  const ends = [item.a?.x, item.b?.x].filter((x) => x !== undefined);
  return ends.length > 0 && Math.max(...ends) >= state.window[0] &&
    Math.min(...ends) <= state.window[1];
}

// Rows from the top: a lane has the rows used in the time window. A lane that is collapsed or has no
// mark in the window has a single row, so that zooming leaves no empty height.
function place() {
  const lanes = data.lanes.map((lane, index) => {
    const own = items.filter((item) => item.l === index);
    const used = [...new Set(own.filter(shows).map((item) => item.r))].sort((a, b) => a - b);
    const folded = collapsed.has(lane.label);
    const rows = folded ? 1 : Math.max(used.length, 1);
    return { ...lane, folded, height: rows + 0.9, at: new Map(used.map((row, at) => [row, at])) };
  });
  const free = (scroller.clientHeight || 1) / lanes.reduce((sum, lane) => sum + lane.height, 0);
  const row = Math.min(collapsed.size ? 14 : ROW.most, Math.max(ROW.least, free));
  const names = nameHeights();
  let top = 0;
  lanes.forEach((lane, index) => {
    lane.height = Math.max(lane.height, names[index] / row);
    lane.top = top;
    top += lane.height;
  });
  return { lanes, total: top, row };
}

function laneButton(lane) {
  const made = element("button", "lane");
  made.type = "button";
  made.append(
    element("span", "lane-name", lane.label),
    element("span", "lane-count", String(lane.count)),
  );
  if (lane.unplaced) made.append(element("span", "lane-unplaced", `${lane.unplaced} not placed`));
  return made;
}

// The height in pixels of each lane's name, which the column's width may wrap.
function nameHeights() {
  const probes = data.lanes.map((lane) => laneColumn.appendChild(laneButton(lane)));
  const heights = probes.map((probe) => probe.offsetHeight);
  for (const probe of probes) probe.remove();
  return heights;
}

const rowOf = (item) => {
  const lane = layout.lanes[item.l];
  return lane.top + 0.95 + (lane.folded ? 0 : (lane.at.get(item.r) ?? 0));
};
const inkOf = (name) => {
  guide.className = `plot-guide ink-${name}`;
  return getComputedStyle(guide).color;
};

function lines(of, ends, style) {
  const x = [];
  const y = [];
  for (const item of of) {
    const [from, to] = ends(item);
    x.push(from, to, null);
    y.push(rowOf(item), rowOf(item), null);
  }
  return { type: "scatter", mode: "lines", x, y, line: style, hoverinfo: "skip" };
}

function dots(of, x, marker) {
  return {
    type: "scatter",
    mode: "markers",
    x: of.map(x),
    y: of.map(rowOf),
    customdata: of.map((item) => Case.byUid.get(item.u)),
    marker,
    hoverinfo: "none",
    cliponaxis: false,
  };
}

function traces() {
  // Rows outside the window would be drawn over others.
  const placed = items.filter(shows);
  const both = placed.filter((item) => item.a?.x !== undefined && item.b?.x !== undefined);
  const ends = (item) => [item.a.x, item.b.x];
  const reported = placed.filter((item) => item.f);
  const far = both.filter((item) => item.s === "differs");
  const rings = (side) => reported.filter((item) => item[side]?.x !== undefined);
  // A is drawn a little above the line and B a little below it, so that close marks do not hide
  // each other.
  const close = (item) =>
    item.a?.x !== undefined && item.b?.x !== undefined && Math.abs(item.a.x - item.b.x) < 0.014;
  const halo = { symbol: "circle-open", size: 14, color: inkOf("soft"), line: { width: 1.25 } };
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
  canvas.dataset.far = far.length;
  return [
    lines(both.filter((item) => item.s === "agrees"), ends, { color: inkOf("line"), width: 1.5 }),
    lines(far, ends, { color: inkOf("soft"), width: 2.5 }),
    dots(rings("a"), (item) => item.a.x, halo),
    dots(rings("b"), (item) => item.b.x, halo),
    mark("b", "square", 6.5),
    mark("a", "circle", 7.5),
  ];
}

function plotLayout() {
  const ink = { line: inkOf("grid"), zero: inkOf("soft") };
  const vertical = (at, dash) => ({
    type: "line",
    x0: at,
    x1: at,
    y0: 0,
    y1: layout.total,
    layer: "below",
    line: { color: ink.zero, width: 1, dash },
  });
  const borders = layout.lanes.slice(1).map((lane) => ({
    type: "line",
    xref: "paper",
    x0: 0,
    x1: 1,
    y0: lane.top,
    y1: lane.top,
    layer: "below",
    line: { color: ink.line, width: 1 },
  }));
  return {
    margin: { l: 0, r: 0, t: 0, b: 0 },
    showlegend: false,
    hovermode: "closest",
    hoverdistance: 10,
    dragmode: "zoom",
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    width: canvas.clientWidth,
    height: Math.round(layout.total * layout.row),
    xaxis: {
      range: [...state.window],
      showticklabels: false,
      ticks: "",
      zeroline: false,
      gridcolor: ink.line,
      tickvals: gridlines(),
      showline: false,
    },
    yaxis: { range: [layout.total, 0], visible: false, fixedrange: true },
    shapes: [
      ...borders,
      vertical(data.zero, "solid"),
      ...(data.discharge === null ? [] : [vertical(data.discharge, "dot")]),
    ],
  };
}

const share = (x) => (x - state.window[0]) / (state.window[1] - state.window[0]);

// The labels of admission and discharge have priority.
function chooseTicks() {
  const discharge = data.discharge === null
    ? []
    : [[data.discharge, `discharge ${chosenOf(data.dischargeWords)}`, 0.5]];
  shownTicks = fittingTicks([...data.ticks[chosenClock()], ...discharge], {
    window: state.window,
    width: canvas.clientWidth || 1,
    zero: data.zero,
  });
}

const gridlines = () => shownTicks.filter((tick) => tick[2] >= 1).map((tick) => tick[0]);

function drawAxis() {
  axis.replaceChildren();
  const width = axis.clientWidth;
  for (const [at, words, rank] of shownTicks) {
    const made = axis.appendChild(
      element(
        "span",
        rank === 0 ? "tick tick-zero" : rank === 0.5 ? "tick tick-discharge" : "tick",
      ),
    );
    const label = made.appendChild(element("span", "tick-label", words));
    made.style.left = `${share(at) * 100}%`;
    // Labels at the ends stay inside the plot.
    const over = Math.max(0, share(at) * width + label.offsetWidth / 2 - width);
    const under = Math.max(0, label.offsetWidth / 2 - share(at) * width);
    label.style.marginLeft = `${2 * (under - over)}px`;
  }
}

function drawLanes() {
  // Restore the focus after drawing: the window may move while a lane has the focus.
  const focused = [...laneColumn.children].indexOf(document.activeElement);
  laneColumn.replaceChildren();
  layout.lanes.forEach((lane) => {
    const made = laneButton(lane);
    made.setAttribute("aria-expanded", String(!lane.folded));
    made.style.top = `${lane.top * layout.row}px`;
    made.style.height = `${lane.height * layout.row}px`;
    made.addEventListener("click", () => {
      if (!collapsed.delete(lane.label)) collapsed.add(lane.label);
      Case.remembered.set("collapsed", [...collapsed]);
      // Some browsers do not focus a button that is clicked.
      made.focus();
      draw();
    });
    laneColumn.append(made);
  });
  laneColumn.children[focused]?.focus({ preventScroll: true });
}

const visible = (item) => Boolean(layout && item && item.x !== undefined && Case.inWindow(item));
const left = (x) => canvas.offsetLeft + Math.min(1, Math.max(0, share(x))) * canvas.clientWidth;

function mark() {
  const item = Case.selectedItem();
  guide.hidden = ring.hidden = !visible(item);
  if (guide.hidden) return;
  guide.style.left = ring.style.left = `${left(item.x)}px`;
  ring.style.top = `${rowOf(item) * layout.row}px`;
}

function draw() {
  if (!canvas.clientWidth) return;
  // The strip and the axis above have a margin at the right as wide as the scroll bar here.
  Case.find("[data-plot-root]").style.setProperty(
    "--bar",
    `${scroller.offsetWidth - scroller.clientWidth}px`,
  );
  layout = place();
  chooseTicks();
  const height = `${Math.round(layout.total * layout.row)}px`;
  body.style.height = height;
  Plotly.react(canvas, traces(), plotLayout(), {
    displayModeBar: false,
    scrollZoom: false,
    doubleClick: false,
    responsive: false,
    showTips: false,
  });
  drawAxis();
  drawLanes();
  mark();
  point();
  if (!canvas.dataset.wired) wire();
}

// Draws at most once per frame.
let waiting = 0;
function drawSoon() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(draw);
}

function wire() {
  canvas.dataset.wired = "true";
  canvas.on("plotly_click", (event) => {
    const index = event.points[0]?.customdata;
    if (index !== undefined) Case.select(index, "plot");
  });
  canvas.on(
    "plotly_hover",
    (event) => Case.emit("hover", items[event.points[0]?.customdata] || null, event.event),
  );
  canvas.on("plotly_unhover", () => Case.emit("hover", null));
  canvas.on("plotly_doubleclick", () => Case.setWindow(0, 1));
  canvas.on("plotly_relayout", (change) => {
    if (change["xaxis.range[0]"] !== undefined) {
      Case.setWindow(change["xaxis.range[0]"], change["xaxis.range[1]"]);
    }
  });
}

// The ring around the occurrence under the pointer, here or in the note. It is placed again when
// the plot is redrawn.
function point() {
  hovered.hidden = !visible(pointed);
  if (hovered.hidden) return;
  hovered.style.left = `${left(pointed.x)}px`;
  hovered.style.top = `${rowOf(pointed) * layout.row}px`;
}

Case.on("hover", (item, event) => {
  pointed = item;
  point();
  if (!item || !event) {
    hideTip();
    return;
  }
  showTip(
    event,
    element("b", "", item.m),
    element("span", "", chosenOf(item.w)),
    ...(item.dw ? [element("span", "muted", item.dw)] : []),
  );
});
Case.on("window", () => {
  hideTip();
  if (layout) drawSoon();
});
Case.on("select", (item) => {
  mark();
  if (!item || item.x === undefined || !layout) return;
  const y = rowOf(item) * layout.row;
  if (y < scroller.scrollTop + 16 || y > scroller.scrollTop + scroller.clientHeight - 16) {
    scroller.scrollTop = y - scroller.clientHeight / 2;
  }
});

scroller.addEventListener("wheel", (event) => {
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    Case.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2);
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    const width = state.window[1] - state.window[0];
    Case.setWindow(
      state.window[0] + (event.deltaX / canvas.clientWidth) * width,
      state.window[1] + (event.deltaX / canvas.clientWidth) * width,
    );
  }
}, { passive: false });

new ResizeObserver(drawSoon).observe(scroller);
document.addEventListener("themechange", draw);
document.addEventListener("clockchange", drawSoon);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
