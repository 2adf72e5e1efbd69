// A time in its two ways, as the template tag `when` writes it: the styles show first the one that
// the reader chose.
import { element } from "./dom.js";

export function momentOf(day, hours) {
  const made = element("time", "at");
  made.append(element("span", "at-day", day));
  if (hours) made.append(" ", element("span", "at-hours", hours));
  return made;
}

const inHours = () => document.documentElement.dataset.clock === "hours";

// The same as text, for tooltips, announcements and filters.
export function momentText(day, hours) {
  if (!hours || hours === day) return day;
  return inHours() ? `${hours} (${day})` : `${day} (${hours})`;
}
