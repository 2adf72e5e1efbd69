// Shows only the rows of a table whose first cell contains the words. They never get into an
// address.
import { hasWords, wordsOf } from "../common/filter.js";

for (const field of document.querySelectorAll("[data-filter-rows]")) {
  const rows = [...document.getElementById(field.dataset.filterRows).rows];
  const count = field.form.querySelector("[data-filter-count]");
  const all = count.textContent;
  field.addEventListener("input", () => {
    const words = wordsOf(field.value);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !hasWords(row.cells[0].textContent, words);
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = words.length ? `${shown} of ${rows.length} on this page` : all;
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}
