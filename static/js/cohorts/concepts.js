// Keys of the pages of concepts: choose, accept and reject members; answer a sample.

const form = document.querySelector("[data-members]");
const answers = document.querySelector("[data-answers]");
const boxes = form ? [...form.querySelectorAll("input[name=members]")] : [];

function move(step) {
  const at = boxes.indexOf(document.activeElement);
  const next = at < 0 ? boxes[0] : boxes[at + step];
  next?.focus();
}

function submit(answer) {
  const button = form.querySelector(`button[value=${answer}]`);
  if (button && boxes.some((box) => box.checked)) form.requestSubmit(button);
}

const actions = {
  j: () => move(1),
  k: () => move(-1),
  x: () => {
    if (boxes.includes(document.activeElement)) document.activeElement.click();
  },
  a: () => submit("accept"),
  r: () => submit("reject"),
};

function isTyping(target) {
  return target.matches("textarea, select, input:not([type=checkbox])");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (answers) answers.querySelector(`[data-key="${CSS.escape(event.key)}"]`)?.click();
  else if (form) actions[event.key]?.();
});

form?.querySelector("[data-choose-all]").addEventListener("click", () => {
  const every = boxes.every((box) => box.checked);
  for (const box of boxes) box.checked = !every;
});

// An import sends the text of the chosen file, which the reader sees before.
document.querySelector("[data-file]")?.addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (file) document.querySelector("[data-text]").value = await file.text();
});
