// The state of the review page: its position in the packet, the current item, and unsaved steps.
// Answers, comments and the next item are only in this page's memory, never in the browser's
// storage.
import { announcerIn } from "../common/dom.js";
import { createEvents } from "../common/events.js";

export const root = document.getElementById("review");
const { packet, next, undo } = root.dataset;
export const { mode, person } = root.dataset;
export const urls = { packet, next, undo };
export const state = {
  done: Number(root.dataset.done),
  total: Number(root.dataset.total),
  left: root.dataset.left,
  // Decisions, skips and undos that are being sent, oldest first.
  pending: [],
};

export const { on, emit } = createEvents();
export const find = (selector) => root.querySelector(selector);
export const announce = announcerIn(find("[data-announce]"));
export const item = () => find("[data-item]");

const notice = find("[data-notice]");
export function note(words) {
  notice.hidden = !words;
  notice.querySelector("[data-notice-words]").textContent = words;
  if (words) announce(words);
}

// Updates the progress: values from the server, or an estimate until the server answers.
export function progress(values) {
  Object.assign(state, values);
  const bar = find("[data-progress]");
  bar.max = Math.max(state.total, 1);
  bar.value = state.done;
  find("[data-position]").textContent = position();
  find("[data-left-words]").textContent = state.left;
  find("[data-do=undo]")?.toggleAttribute("disabled", state.done < 1);
}
// The reviewer changes an answer chosen from the list: there is no position, undo or skip.
export const changing = "changing" in root.dataset;
export const position = () =>
  changing ? "Changing an answer" : `${Math.min(state.done + 1, state.total)} of ${state.total}`;
