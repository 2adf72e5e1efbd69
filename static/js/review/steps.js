// The steps that wait to be sent, and what each answer of the server means for them. Has no access
// to the page.
import { counted } from "../common/words.js";

// Items that this page works on: the one on screen, and those whose answer is being sent.
export const itemsInHand = (shown, pending) => [
  ...new Set([shown, ...pending.map((step) => step.item)].filter(Boolean)),
];

// "stored" and "rejected" end a step. "signed-out", "expired" (the CSRF token is of an earlier
// session) and "lost" keep it, to be sent again with the same token.
export function outcomeOf({ status, isJson }) {
  if (status === 200) return "stored";
  if (status === 401) return "signed-out";
  if ((status === 403 || status === 404) && !isJson) return "expired";
  return isJson && status >= 400 && status < 500 ? "rejected" : "lost";
}

export const waitingWords = (count) =>
  count ? `${counted(count, "step is", "steps are")} stored` : "Your answers are stored";

// Without a connection the page must not claim that the answer is saved.
export const answeredWords = (words, connection) =>
  `${["saved", "saving"].includes(connection) ? "Saved" : "Not sent yet"}: ${words}.`;

// What to show if there is no next item. A message of the server says that the review is closed.
export function endingOf({ message, done, total }) {
  if (message) return { title: "This review is closed", words: message, link: "To the packet" };
  if (done >= total) {
    return {
      title: "All items are decided",
      words: "Answer one last question and sign. You can change every answer until you sign.",
      link: "To the last steps",
    };
  }
  return {
    title: "No items for you now",
    words:
      "The remaining items are assigned to other reviewers. They may be assigned to you later.",
    link: "To the packet",
  };
}
