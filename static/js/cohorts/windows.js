// The builder of windows: Enter presses the button of its own section; only needed fields are shown.

const form = document.querySelector("[data-steps]");
const relation = form?.querySelector("[data-relation]");

function showFields() {
  for (const field of form.querySelectorAll("[data-for]")) {
    field.hidden = !field.dataset.for.split(" ").includes(relation.value);
  }
}

if (relation) {
  relation.addEventListener("change", showFields);
  showFields();
}

form?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.matches("input, select")) return;
  event.preventDefault();
  event.target.closest("[data-section]")?.querySelector("button[name=step]").click();
});
