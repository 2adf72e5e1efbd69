// What was known of an occurrence at an hour, by the rule of cohorts/asof/states.py.
// A known is [earliest, latest, documented] in hours from admission; null is an open bound, or never
// documented.

export const STATES = ["known", "later", "uncertain", "not_yet"];

export function stateAt([earliest, latest, documented], hour) {
  if (earliest !== null && earliest > hour) return "not_yet";
  if (latest === null || latest > hour) return "uncertain";
  return documented !== null && documented <= hour ? "known" : "later";
}

// The nearest hour before or after `hour` at which a state changes; undefined if there is none.
// Hours are rounded up to the steps of the slider, so that it does not stop before a change.
export function nextChange(knowns, hour, direction) {
  const hours = knowns.flat().filter((at) => at !== null)
    .map((at) => Math.ceil(at * 100 - 1e-6) / 100)
    .filter((at) => (at - hour) * direction > 1e-6);
  return hours.length ? (direction > 0 ? Math.min(...hours) : Math.max(...hours)) : undefined;
}

// Whole hours, or one digit: "12 h", "6.5 h".
export function hourWords(hour) {
  const digits = Math.abs(hour - Math.round(hour)) < 0.05 ? 0 : 1;
  return `${hour.toFixed(digits).replace("-", "−")} h`;
}
