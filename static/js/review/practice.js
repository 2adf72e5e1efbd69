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
  feedback.hidden = false;
  Review.announce(`${data.title} ${data.explanation}`);
  feedback.querySelector("[data-feedback-next]").focus();
}
