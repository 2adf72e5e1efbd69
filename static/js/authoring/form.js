// The form of the selected occurrence. Typed values are saved after a short pause, when the field
// loses focus, and before the page closes.
import { respan } from "./note.js";
import * as Author from "./state.js";
import { working } from "./sync.js";
import * as Text from "./text.js";

const { state, note } = Author;
export const form = Author.find("[data-form]");
const fields = form.elements;
const problem = Author.find("[data-problem]");
const PAUSE = 600;
const waiting = new Map();
let shown = null;

// A field whose change is saved after a pause; `commit` saves it at once when the field or the page
// is left.
export function keep(field, commit) {
  const save = () => {
    const had = waiting.has(field);
    drop(field);
    if (had) commit();
  };
  field.addEventListener("input", () => {
    drop(field);
    working(1);
    waiting.set(field, { timer: setTimeout(save, PAUSE), save });
  });
  field.addEventListener("change", save);
  field.addEventListener("blur", save);
}
const flush = () => [...waiting.values()].forEach(({ save }) => save());
export const isWaiting = (field) => waiting.has(field);
export function drop(field) {
  if (!waiting.has(field)) return;
  clearTimeout(waiting.get(field).timer);
  waiting.delete(field);
  setTimeout(() => working(-1));
}

// Sets a field unless the person is typing in it: between two words, the stored value lacks the
// space.
const trimmed = (text) => text.trim().replace(/\s+/gu, " ");
export function fill(field, value) {
  if (field.value === value || isWaiting(field)) return;
  if (field === document.activeElement && trimmed(field.value) === value) return;
  field.value = value;
}

function draw() {
  const o = Author.selected();
  form.hidden = !o;
  Author.find("[data-form-empty]").hidden = Boolean(o);
  Author.find("[data-form-title]").textContent = o ? o.mention || "…" : "Selected occurrence";
  Author.find("[data-form-position]").textContent = o
    ? `${Author.ordered().findIndex((x) => x.uid === o.uid) + 1} of ${Author.currentView().size}`
    : "";
  if (!o) {
    shown = null;
    return;
  }
  if (shown !== o.uid) complain("");
  shown = o.uid;
  Author.find("[data-fields]").disabled = state.locked || Boolean(o.busy);
  Author.find("[data-span-text]").textContent = note.slice(o.start, o.end);
  fill(fields.mention, o.mention);
  fill(fields.reason, o.reason);
  fields.polarity.value = o.polarity;
  for (const button of form.querySelectorAll("[data-edge]")) button.disabled = !edged(o, button);
  Author.emit("form", o);
}

function edged(o, button) {
  const [edge, way] = button.dataset.edge.split(" ");
  return Text.moved(note, o, edge, way === "out");
}

function complain(words, field = null) {
  problem.textContent = words;
  problem.hidden = !words;
  for (const one of form.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
  if (field) field.setAttribute("aria-invalid", "true");
}

// The mention must not become empty: an empty field returns to the stored mention.
keep(fields.mention, () => {
  const o = Author.selected();
  const mention = trimmed(fields.mention.value);
  if (!o) return;
  if (!mention) fields.mention.value = o.mention;
  else if (mention !== o.mention) Author.change(o.uid, { mention });
});
keep(fields.reason, () => {
  const o = Author.selected();
  if (o && fields.reason.value.trim() !== o.reason) {
    Author.change(o.uid, { reason: fields.reason.value.trim() });
  }
});
for (const radio of fields.polarity) {
  radio.addEventListener(
    "change",
    () => Author.change(state.selected, { polarity: fields.polarity.value }),
  );
}
fields.mention.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  flush();
  fields.when.focus();
  fields.when.select();
});
form.addEventListener("click", (event) => {
  const button = event.target.closest("[data-edge]");
  if (button && Author.selected()) respan(edged(Author.selected(), button));
});
form.addEventListener("submit", (event) => event.preventDefault());

Author.on("flush", flush);
Author.on("reshaping", flush);
Author.on("rejected", (edit, answer, about) => {
  const uid = edit.uid ?? edit.made;
  const typed = edit.values?.time_text ? `“${edit.values.time_text}” ` : "";
  const what = about
    ? `${typed}${typed ? "for " : ""}${about.mention}: not saved. `
    : "Not saved. ";
  Author.emit("notice", `${what}${answer.message ?? ""}`, "error");
  const field = answer.field?.startsWith("time") ? fields.when : fields[answer.field];
  if (uid === state.selected) complain(answer.message, field instanceof HTMLElement ? field : null);
});
Author.beforeSelect(flush);
Author.on("document", draw);
Author.on("renamed", (before, after) => {
  if (shown === before) shown = after;
});
Author.on("select", (o, from) => {
  draw();
  Author.find("[data-fields]").parentElement.scrollTop = 0;
  if (o && from === "mark") focusForm();
});
export function focusForm() {
  if (form.hidden) return;
  fields.mention.focus();
  fields.mention.select();
}
