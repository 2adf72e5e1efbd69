// Menus that open below a button: one at a time, closed by Escape and by a click elsewhere.
const menus = [...document.querySelectorAll("[data-menu]")];

document.addEventListener("click", (event) => {
  for (const menu of menus) {
    const inside = menu.contains(event.target);
    if (menu.open && (!inside || event.target.closest("a, li button"))) menu.open = false;
  }
});
for (const menu of menus) {
  menu.addEventListener("keydown", (event) => {
    const summary = menu.querySelector("summary");
    if (event.key === "Escape" && menu.open) {
      event.preventDefault();
      event.stopPropagation();
      menu.open = false;
      summary.focus();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    menu.open = true;
    const entries = [summary, ...menu.querySelectorAll("a, li button")];
    entries.at((entries.indexOf(document.activeElement) + step) % entries.length).focus();
  });
}
