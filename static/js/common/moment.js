// A time in its two ways, as the template tag `when` writes it: the styles show first the one that
// the reader chose.
import { element } from "./dom.js";

export function momentOf(day, hours) {
  const made = element("time", "at");
  made.append(element("span", "at-day", day));
  if (hours) made.append(" ", element("span", "at-hours", hours));
  return made;
}

// How the reader chose to see times: "day" or "hours".
export const chosenClock = () => (inHours() ? "hours" : "day");

// The chosen one of a time's two ways.
export const chosenOf = ([day, hours]) => (inHours() ? hours : day);

// Writes times within sentences in the chosen way (the template tag `said`).
export function writeSaid(root) {
  for (const one of root.querySelectorAll("[data-in-hours]")) {
    one.dataset.inDays ??= one.textContent;
    one.textContent = chosenOf([one.dataset.inDays, one.dataset.inHours]);
  }
}

const inHours = () => document.documentElement.dataset.clock === "hours";

// The same as text, for tooltips, announcements and filters.
export function momentText(day, hours) {
  if (!hours || hours === day) return day;
  return inHours() ? `${hours} (${day})` : `${day} (${hours})`;
}
