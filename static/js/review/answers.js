// What is chosen and typed for the item in hand, read from its form and kept on the server a moment later.
(() => {
  "use strict";
  const Review = window.ReviewPage;
  const PAUSE = 700;
  const KEEP_EVERY = 30_000;
  const UNITS = { y: 8760, w: 168, d: 24, h: 1, min: 1 / 60 };
  const UNIT = /([\d.,]+)\s*(years?|yrs?|y|weeks?|wks?|w|days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m)?/giu;
  let timer = null;
  let keptAt = 0;
  let kept = "";

  const form = () => Review.find("[data-decide]");
  const answer = () => form()?.querySelector("[data-answer-value][aria-pressed=true]")?.dataset.answerValue ?? "";
  const flagged = () => Review.find("[data-do=flag]")?.getAttribute("aria-pressed") === "true";

  // "−3 d 4 h", "+6.5", "2 weeks before": hours from admission; null for an empty field, NaN for what is no time.
  function hours(text) {
    const words = text.trim().toLowerCase().replace(/[−–]/gu, "-").replace(/^n\/a$/u, "");
    if (!words) return null;
    const before = /^-|\bbefore\b/u.test(words);
    const bare = words.replace(/\b(before|after)( admission)?\b/gu, "").replace(/^[+-]\s*/u, "").trim();
    if (bare.replace(UNIT, "").trim() || !bare) return NaN;
    let sum = 0;
    for (const [, number, unit = "h"] of bare.matchAll(UNIT)) {
      const short = unit.startsWith("mi") || unit === "m" ? "min" : unit[0];
      sum += Number(number.replace(",", ".")) * UNITS[short];
    }
    return before ? -sum : sum;
  }

  function said(value) {
    const size = Math.abs(value);
    const amount = size >= 8760 ? `${(size / 8760).toFixed(1)} y` : size >= 48 ? `${(size / 24).toFixed(1)} d` : `${size.toFixed(1)} h`;
    return `${value < 0 ? "−" : "+"}${amount.replace(".0 ", " ")}`;
  }

  function readTime() {
    const field = form().elements.own_time;
    const value = hours(field.value);
    const bad = Number.isNaN(value);
    field.setAttribute("aria-invalid", String(bad));
    const plain = value === null || bad ? "" : `= ${said(value)}`;
    form().querySelector("[data-own-time-read]").textContent = bad ? "Write −72, −3 d 4 h, +6.5 h" : plain;
    return value;
  }

  // What goes to the server; null where the time cannot be read.
  function values() {
    const time = readTime();
    if (Number.isNaN(time)) return null;
    return { answer: answer(), own_time: time, comment: form().elements.comment.value.trim(), flagged: flagged(), active_seconds: Review.seconds() };
  }

  function hint(words) {
    form().querySelector("[data-hint]").textContent = words;
    if (words) Review.announce(words);
  }

  function choose(value) {
    const buttons = [...form().querySelectorAll("[data-answer-value]")];
    const chosen = buttons.find((button) => button.dataset.answerValue === value);
    if (!chosen) return;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === chosen));
    form().querySelector("[data-do=commit]").disabled = false;
    hint("");
    Review.announce(`${chosen.querySelector("b").textContent}: ${chosen.querySelector("span").textContent}. Enter saves it.`);
    soon();
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(keep, PAUSE);
  }

  const told = ({ answer, own_time: time, comment }) => JSON.stringify([answer, time, comment]);

  // The draft is for another device and for a page that was closed; the decision itself carries everything again.
  async function keep() {
    clearTimeout(timer);
    const item = Review.item();
    if (!item || Review.mode !== "review" || "decided" in item.dataset) return;
    const body = values();
    if (!body) return;
    const content = told(body);
    if (content === kept && performance.now() - keptAt < KEEP_EVERY) return;
    const { status, data } = await Review.ask(`${item.dataset.url}draft/`, body);
    if (status !== 200) return;
    [kept, keptAt] = [content, performance.now()];
    if (Review.item() !== item) return;
    if (data.held === false) Review.note("Your time for this item ran out and somebody else has it now. An answer is still kept, as a late one.");
  }

  Review.root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-answer-value]");
    if (button && !button.disabled) choose(button.dataset.answerValue);
  });
  Review.root.addEventListener("input", (event) => {
    if (!form()?.contains(event.target)) return;
    if (event.target.name === "own_time") readTime();
    soon();
  });
  Review.root.addEventListener("submit", (event) => event.target.matches("[data-decide]") && event.preventDefault());
  Review.on("item", (item) => {
    clearTimeout(timer);
    // As it came from the server it is kept already.
    const begun = item && values();
    [kept, keptAt] = [begun ? told(begun) : "", performance.now()];
  });
  Review.on("flush", keep);
  let before = 0;
  setInterval(() => {
    if (!Review.item() || document.visibilityState !== "visible" || Review.connection() !== "saved") return;
    const now = Review.seconds();
    if (now > before && performance.now() - keptAt >= KEEP_EVERY) keep();
    before = now;
  }, 5000);
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && keep());
  Object.assign(Review, { choose, hint, values, answer, flagged, keep, keepSoon: soon, dropDraft: () => clearTimeout(timer), hours });
})();
