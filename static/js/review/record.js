// The record beside an item: a list of series and their rows. Rows that did not come with the page
// are fetched when a series is selected.
import { element } from "../common/dom.js";
import { hasWords, wordsOf } from "../common/filter.js";
import * as Review from "./state.js";
import { ask } from "./sync.js";

const list = () => Review.find("[data-series-list]");
const panels = () => Review.find("[data-series-panels]");
const choices = () => [...(list()?.children ?? [])].filter((choice) => !choice.hidden);

function choose(choice, focus = false) {
  if (!choice) return;
  for (const other of list().querySelectorAll("[aria-selected=true]")) {
    other.setAttribute("aria-selected", "false");
    other.tabIndex = -1;
  }
  choice.setAttribute("aria-selected", "true");
  choice.tabIndex = 0;
  choice.scrollIntoView({ block: "nearest" });
  if (focus) choice.focus();
  open(choice.dataset.series);
  Review.announce(
    `${choice.querySelector(".series-name").textContent.trim()}, ${
      choice.querySelector(".series-n").textContent
    } rows`,
  );
}

function open(number) {
  for (const panel of panels().children) panel.hidden = panel.dataset.panel !== number;
  panels().scrollTop = 0;
  if (!panels().querySelector(`[data-panel="${number}"]`)) fetchInto(panelOf(number), number);
}

function panelOf(number) {
  const made = element("div");
  made.dataset.panel = number;
  panels().append(made);
  return made;
}

async function fetchInto(panel, number) {
  if (!panel.childElementCount) panel.replaceChildren(element("p", "muted", "Loading rows…"));
  const { status, data } = await ask(`${Review.item().dataset.url}series/${number}/`, {});
  if (status === 200) {
    const page = new DOMParser().parseFromString(data.html, "text/html");
    panel.replaceChildren(...[...page.body.childNodes].map((node) => document.adoptNode(node)));
    return;
  }
  const words = status === 0
    ? "No connection: the rows cannot be loaded."
    : "The rows could not be loaded.";
  panel.replaceChildren(element("p", "muted", words));
  if (!panel.hidden) Review.announce(words);
  const again = () => panel.isConnected && panel.remove();
  list()?.addEventListener("click", again, { once: true });
}

export function stepSeries(way) {
  const shown = choices();
  const at = shown.findIndex((choice) => choice.getAttribute("aria-selected") === "true");
  choose(
    shown[Math.min(Math.max(at + way, 0), shown.length - 1)],
    list()?.contains(document.activeElement),
  );
}

function filter(field) {
  const words = wordsOf(field.value);
  let count = 0;
  for (const choice of list().children) {
    choice.hidden = !hasWords(choice.querySelector(".series-name").textContent, words);
    if (!choice.hidden) count += 1;
  }
  Review.find("[data-series-count]").textContent = words.length ? `${count} found` : "";
}

Review.root.addEventListener("click", (event) => {
  choose(event.target.closest("[data-series]"), true);
  const all = event.target.closest("[data-do=all-rows]");
  const panel = all?.closest("[data-panel]");
  if (panel) {
    fetchInto(panel, panel.dataset.panel);
    panels().focus();
  }
});
Review.root.addEventListener(
  "input",
  (event) => event.target.matches("[data-series-filter]") && filter(event.target),
);
Review.root.addEventListener("keydown", (event) => {
  if (event.target.matches("[data-series-filter]")) {
    if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault();
      choose(choices()[0], true);
    }
    return;
  }
  if (!event.target.matches("[data-series]")) return;
  const ways = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -1e6, End: 1e6 };
  if (event.key in ways) {
    event.preventDefault();
    stepSeries(ways[event.key]);
  }
});
export const findSeries = () => Review.find("[data-series-filter]")?.focus();
