// Practice items: the answer is checked and explained at once.
import { token } from "../common/token.js";
import * as Review from "./state.js";
import { ask } from "./sync.js";

const feedback = Review.find("[data-feedback]");

export async function practise(item, body) {
  const { status, data } = await ask(`${item.dataset.url}decide/`, {
    token: token(),
    answer: body.answer,
  });
  if (status !== 200) {
    Review.note(
      data.message ?? "The answer could not be checked. Try again when you are connected.",
    );
    return;
  }
  for (const button of item.querySelectorAll("[data-answer-value]")) {
    button.disabled = true;
    button.classList.toggle("is-answer", button.dataset.answerValue === data.answer);
  }
  item.querySelector("[data-do=commit]").disabled = true;
  feedback.querySelector("[data-feedback-title]").textContent = data.title;
  feedback.querySelector("[data-feedback-words]").textContent = data.explanation;
  feedback.querySelector("[data-feedback-next]").href = data.next;
  feedback.querySelector("[data-feedback-next-words]").textContent = data.next_words;
  Review.find("[data-do=undo]").disabled = false;
  feedback.hidden = false;
  Review.announce(`${data.title} ${data.explanation}`);
  feedback.querySelector("[data-feedback-next]").focus();
}

// Skips a case, or undoes the last answer: the server says which case comes then.
export async function stepPractice(url, nothing) {
  const { status, data } = await ask(url, {});
  if (status === 200 && data.next) location.assign(data.next);
  else {
    Review.note(
      status === 200
        ? nothing
        : (data.message ?? "The step was not stored. Try again when you are connected."),
    );
  }
}
