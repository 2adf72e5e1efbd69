// The story of the stay: its milestones select occurrences, and "Show more" shows the next ones.
import { on, selectedItem, selectUid } from "./state.js";

const story = () => document.querySelector("[data-story]");
const MORE = 15;
let shown = 0;

function mark() {
  const uid = selectedItem()?.u;
  for (const button of story()?.querySelectorAll("[data-select]") ?? []) {
    const current = uid !== undefined && button.dataset.uids.split(" ").includes(uid);
    button.setAttribute("aria-current", String(current));
  }
}

function reveal() {
  const root = story();
  if (!root) return;
  shown = Math.max(shown, Number(root.dataset.shown));
  for (const day of root.querySelectorAll("[data-day]")) {
    const milestones = [...day.querySelectorAll("[data-rank]")];
    for (const milestone of milestones) milestone.hidden = Number(milestone.dataset.rank) > shown;
    day.hidden = milestones.every((milestone) => milestone.hidden);
  }
  const more = root.querySelector("[data-story-more]");
  if (more) more.hidden = !root.querySelector("[data-day] [data-rank][hidden]");
}

document.addEventListener("click", (event) => {
  const root = story();
  if (!root?.contains(event.target)) return;
  const select = event.target.closest("[data-select]");
  if (select) selectUid(select.dataset.select, "story");
  if (event.target.closest("[data-story-more]")) {
    const before = shown;
    shown += MORE;
    reveal();
    const next = [...root.querySelectorAll("[data-day] [data-rank]")].find((milestone) =>
      Number(milestone.dataset.rank) > before
    );
    next?.querySelector("[data-select]")?.focus();
  }
});

// After a pin the server sends the story again.
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.matches?.("[data-story]")) {
    reveal();
    mark();
  }
});
on("select", mark);
reveal();
