// Rows of a table that expand below their row: a button with aria-controls shows and hides them; a
// link to a row inside expands it.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.disclose");
  if (!button) return;
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(open));
  document.getElementById(button.getAttribute("aria-controls")).hidden = !open;
  button.closest("tbody").classList.toggle("is-open", open);
});
for (const failure of ["htmx:responseError", "htmx:sendError"]) {
  document.addEventListener(failure, (event) => {
    const target = event.detail.target?.closest(".disclosed");
    if (target) target.textContent = "The rows could not be loaded. Reload the page to try again.";
  });
}
const marked = document.querySelector("tr[aria-current]");
marked?.scrollIntoView({ block: "center" });
marked?.focus({ preventScroll: true });
