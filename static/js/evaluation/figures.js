// Draws the plots of the page, redraws them when its width or theme changes, and exports each as
// PNG or SVG in the colours for paper.
import * as Look from "./look.js";

const HEIGHT = 330;
const SAVED = { width: 720, height: 440 };

// `plots`: name → (data, look, size) → { data, layout } for Plotly, or null if there is no data.
export function drawFigures(plots) {
  const holder = document.getElementById("evaluation-data");
  if (!holder) return;
  const data = JSON.parse(holder.textContent);
  const figures = [...document.querySelectorAll("[data-figure]")];

  function draw(figure) {
    const canvas = figure.querySelector("[data-plot]");
    if (!canvas.clientWidth) return;
    const made = plots[figure.dataset.figure](data, Look.page(), {
      width: canvas.clientWidth,
      height: HEIGHT,
    });
    figure.querySelectorAll("[data-save]").forEach((button) => {
      button.disabled = !made;
    });
    if (!made) {
      canvas.textContent = "No plot: no pair has both times.";
      canvas.classList.add("is-empty");
      return;
    }
    Plotly.react(canvas, made.data, made.layout, {
      displayModeBar: false,
      responsive: false,
      showTips: false,
      doubleClick: false,
    });
    figure.dataset.drawn = "true";
    figure.dispatchEvent(new Event("figuredrawn"));
  }

  // The file has a white background, dark ink, and the width of a column and a half.
  async function save(figure, format) {
    const made = plots[figure.dataset.figure](data, Look.PAPER, SAVED);
    const url = await Plotly.toImage(made, { format, ...SAVED, scale: format === "png" ? 2 : 1 });
    const blob = format === "svg"
      ? new Blob([decodeURIComponent(url.slice(url.indexOf(",") + 1))], { type: "image/svg+xml" })
      : fromBase64(url);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${figure.dataset.figure}.${format}`;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  const drawAll = () => figures.forEach(draw);
  for (const figure of figures) {
    for (const button of figure.querySelectorAll("[data-save]")) {
      button.addEventListener("click", () => save(figure, button.dataset.save));
    }
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - width) < 2) return;
      width = entry.contentRect.width;
      draw(figure);
    }).observe(figure);
  }
  document.addEventListener("themechange", drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
}

function fromBase64(url) {
  const bytes = Uint8Array.from(
    atob(url.slice(url.indexOf(",") + 1)),
    (letter) => letter.charCodeAt(0),
  );
  return new Blob([bytes], { type: "image/png" });
}
