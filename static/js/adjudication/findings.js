// The list of findings: j and k move through its rows; Enter or a click anywhere in a row opens it.
const rows = () => [...document.querySelectorAll(".findings tbody tr")];
const link = (row) => row?.querySelector(".row-link");

document.addEventListener("click", (event) => {
  const row = event.target.closest(".findings tbody tr");
  if (!row || event.target.closest("a, button") || !getSelection().isCollapsed) return;
  link(row)?.click();
});
document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, [contenteditable]")) return;
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const all = rows();
  const at = all.indexOf(document.activeElement.closest("tr"));
  link(
    all[
      at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))
    ],
  )?.focus();
});
