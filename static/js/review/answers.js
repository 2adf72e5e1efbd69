// The answer chosen and typed for the current item, read from its form and saved on the server as a
// draft after a short pause.
import { hoursInWords, parseHours } from "../common/hours.js";
import { secondsSeen } from "./clock.js";
import * as Review from "./state.js";
import { ask, connection } from "./sync.js";

const PAUSE = 700;
const SAVE_EVERY = 30_000;
let timer = null;
let savedAt = 0;
let saved = "";

const form = () => Review.find("[data-decide]");
const pressed = () => form()?.querySelector("[data-answer-value][aria-pressed=true]");
export const answer = () => pressed()?.dataset.answerValue ?? "";
export const answerWords = () => pressed()?.querySelector("b").textContent ?? "";
const flagged = () => Review.find("[data-do=flag]")?.getAttribute("aria-pressed") === "true";

function readTime() {
  const field = form().elements.own_time;
  const value = parseHours(field.value);
  const bad = Number.isNaN(value);
  field.setAttribute("aria-invalid", String(bad));
  const plain = value === null || bad ? "" : `= ${hoursInWords(value)}`;
  form().querySelector("[data-own-time-read]").textContent = bad
    ? "Write −72, −3 d 4 h, +6.5 h"
    : plain;
  return value;
}

// The values to send; null if the time is invalid.
export function values() {
  const time = readTime();
  if (Number.isNaN(time)) return null;
  return {
    answer: answer(),
    own_time: time,
    comment: form().elements.comment.value.trim(),
    flagged: flagged(),
    active_seconds: secondsSeen(),
  };
}

export function hint(words) {
  form().querySelector("[data-hint]").textContent = words;
  if (words) Review.announce(words);
}

export function choose(chosen) {
  if (!chosen) return;
  const buttons = form().querySelectorAll("[data-answer-value]");
  for (const button of buttons) button.setAttribute("aria-pressed", String(button === chosen));
  form().querySelector("[data-do=commit]").disabled = false;
  hint("");
  Review.announce(
    `${chosen.querySelector("b").textContent}: ${
      chosen.querySelector("span").textContent
    }. Enter saves it.`,
  );
  soon();
}

export const chooseByKey = (key) =>
  choose(form().querySelector(`[data-answer-value][aria-keyshortcuts="${key}"]`));

function soon() {
  clearTimeout(timer);
  timer = setTimeout(saveDraft, PAUSE);
}

const comparable = ({ answer, own_time: time, comment }) => JSON.stringify([answer, time, comment]);

// The draft is for another device or a page that was closed; the decision repeats all its values.
async function saveDraft() {
  clearTimeout(timer);
  const item = Review.item();
  if (!item || Review.mode !== "review" || "decided" in item.dataset) return;
  const body = values();
  if (!body) return;
  const content = comparable(body);
  if (content === saved && performance.now() - savedAt < SAVE_EVERY) return;
  const { status, data } = await ask(`${item.dataset.url}draft/`, body);
  if (status !== 200) return;
  [saved, savedAt] = [content, performance.now()];
  if (Review.item() !== item) return;
  if (data.assigned === false) {
    Review.note(
      "Your time for this item ran out, and another reviewer has it now. Your answer will be stored as late.",
    );
  }
}

Review.root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-answer-value]");
  if (button && !button.disabled) choose(button);
});
Review.root.addEventListener("input", (event) => {
  if (!form()?.contains(event.target)) return;
  if (event.target.name === "own_time") readTime();
  soon();
});
Review.root.addEventListener(
  "submit",
  (event) => event.target.matches("[data-decide]") && event.preventDefault(),
);
Review.on("item", (item) => {
  clearTimeout(timer);
  // The values that came from the server are saved already.
  const begun = item && values();
  [saved, savedAt] = [begun ? comparable(begun) : "", performance.now()];
});
Review.on("flush", saveDraft);
let before = 0;
setInterval(() => {
  if (!Review.item() || document.visibilityState !== "visible" || connection() !== "saved") return;
  const now = secondsSeen();
  if (now > before && performance.now() - savedAt >= SAVE_EVERY) saveDraft();
  before = now;
}, 5000);
document.addEventListener(
  "visibilitychange",
  () => document.visibilityState === "hidden" && saveDraft(),
);
export const dropDraft = () => clearTimeout(timer);
