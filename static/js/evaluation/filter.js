// Shows only the rows of a table whose first cell contains the words. They never get into an
// address.
for (const field of document.querySelectorAll("[data-filter-rows]")) {
  const rows = [...document.getElementById(field.dataset.filterRows).rows];
  const count = field.form.querySelector("[data-filter-count]");
  const all = count.textContent;
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = wanted !== "" && !row.cells[0].textContent.toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = wanted ? `${shown} of ${rows.length} on this page` : all;
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}
