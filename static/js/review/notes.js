// A note to the study admin about the item on screen. It is sent again like every other step.
import * as Review from "./state.js";
import { send } from "./sync.js";

const dialog = document.getElementById("review-note");

export function openNote() {
  if (Review.item()) dialog?.showModal();
}

dialog?.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const item = Review.item();
  const field = event.target.elements.text;
  const text = field.value.trim();
  if (!item || !text) return;
  send({
    url: `${item.dataset.url}note/`,
    body: { text },
    then: () => Review.note("Your note is sent to the study admin."),
    refused: (data) => Review.note(data.message ?? "The server rejected the note."),
  });
  field.value = "";
  dialog.close();
});
