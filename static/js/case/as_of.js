// The stay as it was known at an hour. A link of the page opens the slider; what was known when is
// fetched once, and the slider then works without the server.
import { actions } from "./keys.js";
import { hourWords, nextChange, stateAt, STATES } from "./known.js";
import * as Case from "./state.js";

const link = Case.find("[data-as-of-open]");
const bar = Case.find("[data-as-of-bar]");
const slider = bar?.querySelector("[data-as-of-hour]");
let known = null;
let asked = null;

async function load() {
  const address = `${link.href}?t=${encodeURIComponent(Case.root.dataset.timeline)}`;
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(String(answer.status));
  const found = await answer.json();
  known = new Map(Object.entries(found.known));
  slider.max = String(found.end);
  slider.value = String(Math.min(24, found.end));
  Case.state.hoursOfStay = found.discharge;
}

function show() {
  const hour = Number(slider.value);
  const states = new Map();
  for (const [uid, times] of known) {
    if (Case.byUid.has(uid)) states.set(uid, stateAt(times, hour));
  }
  for (const name of STATES) {
    const count = [...states.values()].filter((state) => state === name).length;
    bar.querySelector(`[data-as-of-count="${name}"]`).textContent = String(count);
  }
  const words = hourWords(hour);
  bar.querySelector("[data-as-of-words]").textContent = words;
  slider.setAttribute("aria-valuetext", `${words} from admission`);
  Case.state.asOf = { hour, states };
  Case.emit("asOf");
}

async function open() {
  try {
    asked ??= load();
    await asked;
  } catch {
    // The page of its own says what is wrong.
    location.assign(link.href);
    return;
  }
  bar.hidden = false;
  link.setAttribute("aria-pressed", "true");
  show();
  slider.focus();
}

function close() {
  bar.hidden = true;
  link.setAttribute("aria-pressed", "false");
  Case.state.asOf = null;
  Case.emit("asOf");
  link.focus();
}

function go(hour) {
  slider.value = String(hour);
  show();
}

if (link && bar) {
  link.setAttribute("role", "button");
  link.setAttribute("aria-pressed", "false");
  link.setAttribute("aria-controls", bar.id);
  actions.as_of = () => (bar.hidden ? open() : close());
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    actions.as_of();
  });
  slider.addEventListener("input", show);
  slider.addEventListener("keydown", (event) => {
    const steps = {
      PageUp: 6,
      PageDown: -6,
      ArrowRight: 1,
      ArrowUp: 1,
      ArrowLeft: -1,
      ArrowDown: -1,
    };
    if (event.key === "Escape") close();
    else if (event.key in steps) go(Number(slider.value) + steps[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  bar.addEventListener("click", (event) => {
    const direction =
      { previous: -1, next: 1 }[event.target.closest("[data-as-of-to]")?.dataset.asOfTo];
    if (!direction) return;
    const hour = nextChange([...known.values()], Number(slider.value), direction);
    if (hour !== undefined) go(hour);
  });
}
