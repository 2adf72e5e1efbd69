// Keys and buttons. A key typed into a field does nothing else. Loaded last: the page is ready after it.
(() => {
  "use strict";
  const Review = window.ReviewPage;
  const ANSWERS = ["A", "B", "BOTH", "NEITHER", "UNCLEAR", "NOT_A_FINDING"];
  const feedback = Review.find("[data-feedback]");

  // Whoever dictates, or types with an unsteady hand, can do without keys of a single character (WCAG 2.1.4); Enter and Tab stay.
  const keysWanted = Review.find("[data-keys-wanted]");
  try {
    keysWanted.checked = localStorage.getItem("review.keys") !== "off";
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  keysWanted.addEventListener("change", () => {
    try {
      localStorage.setItem("review.keys", keysWanted.checked ? "on" : "off");
    } catch {
      // As above.
    }
  });

  function field(name) {
    const found = Review.find(`[name=${name}]`);
    found?.focus();
    found?.select();
  }
  const actions = {
    commit: Review.commit,
    undo: Review.undo,
    skip: Review.skip,
    flag: Review.flag,
    place: Review.toPlace,
    retry: Review.again,
    dismiss: () => Review.note(""),
  };
  const KEYS = {
    u: Review.undo,
    s: Review.skip,
    f: Review.flag,
    c: () => field("comment"),
    t: () => field("own_time"),
    p: Review.toPlace,
    "[": () => Review.stepSeries(-1),
    "]": () => Review.stepSeries(1),
    "/": Review.findSeries,
    "?": () => document.getElementById("review-help").showModal(),
  };

  // In practice the answer is judged at once, and explained.
  Review.practise = async (item, body) => {
    const { status, data } = await Review.ask(`${item.dataset.url}decide/`, { token: Review.token(), answer: body.answer });
    if (status !== 200) {
      Review.note(data.message ?? "The answer could not be judged; try again once the connection is back.");
      return;
    }
    for (const button of item.querySelectorAll("[data-answer-value]")) {
      button.disabled = true;
      button.classList.toggle("is-answer", button.dataset.answerValue === data.answer);
    }
    item.querySelector("[data-do=commit]").disabled = true;
    feedback.querySelector("[data-feedback-title]").textContent = data.title;
    feedback.querySelector("[data-feedback-words]").textContent = data.explanation;
    feedback.hidden = false;
    Review.announce(`${data.title} ${data.explanation}`);
    feedback.querySelector("[data-feedback-next]").focus();
  };

  Review.root.addEventListener("click", (event) => {
    const name = event.target.closest("[data-do]")?.dataset.do;
    if (name in actions) actions[name]();
  });

  // Enter on a link or another button is that one's; on an answer it chooses it, and saves it once chosen. A series has no use for it.
  function enter(event) {
    const held = event.target.closest("button, a");
    if (held && held.getAttribute("aria-pressed") !== "true") return;
    if (held && !held.matches("[data-answer-value]")) return;
    event.preventDefault();
    Review.commit();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input, textarea, select")) {
      const leaves = event.key === "Escape" || (event.key === "Enter" && event.target.closest("[data-decide]"));
      if (leaves) {
        event.preventDefault();
        Review.item()?.focus({ preventScroll: true });
      }
      return;
    }
    if (event.repeat) return;
    if (event.key === "Enter") enter(event);
    else if (!keysWanted.checked) return;
    else if (/^[1-6]$/u.test(event.key) && Review.item()) {
      event.preventDefault();
      if (feedback?.hidden ?? true) Review.choose(ANSWERS[Number(event.key) - 1]);
    } else if (event.key in KEYS) {
      event.preventDefault();
      KEYS[event.key]();
    }
  });

  Review.progress({});
  Review.ready("");
  Review.prefetch();
  Review.root.dataset.ready = "";
})();
