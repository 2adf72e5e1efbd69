// What the review page knows: its position in the packet, the item before the reviewer, and what
// waits to be saved. Answers, comments and the next item live in this page's memory alone: nothing
// of them is put into the browser's storage.
import { announcerIn } from "../shared/dom.js";
import { createEvents } from "../shared/events.js";

export const root = document.getElementById("review");
const { packet, next, undo } = root.dataset;
export const { mode, person } = root.dataset;
export const urls = { packet, next, undo };
export const state = {
  done: Number(root.dataset.done),
  total: Number(root.dataset.total),
  left: root.dataset.left,
  // Decisions, skips and undos on their way, oldest first.
  pending: [],
};

export const { on, tell } = createEvents();
export const find = (selector) => root.querySelector(selector);
export const announce = announcerIn(find("[data-announce]"));
export const item = () => find("[data-item]");

const notice = find("[data-notice]");
export function note(words) {
  notice.hidden = !words;
  notice.querySelector("[data-notice-words]").textContent = words;
  if (words) announce(words);
}

// What the server says of the packet, or what follows from it until the server is heard again.
export function progress(said) {
  Object.assign(state, said);
  const bar = find("[data-progress]");
  bar.max = Math.max(state.total, 1);
  bar.value = state.done;
  find("[data-position]").textContent = position();
  find("[data-left-words]").textContent = state.left;
  find("[data-do=undo]")?.toggleAttribute("disabled", state.done < 1);
}
// An answer of one's own choice is changed: there is no place in a row of items, nothing to undo
// and nothing to skip.
export const changing = "changing" in root.dataset;
export const position = () =>
  changing ? "Changing an answer" : `${Math.min(state.done + 1, state.total)} of ${state.total}`;
