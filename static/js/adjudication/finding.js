// One finding: j and k go through the findings of its game, and the quote is brought into sight inside its note.
(() => {
  "use strict";
  const note = document.querySelector("[data-quoted]");
  const quote = document.getElementById("quote");
  if (note && quote) note.scrollTop = quote.offsetTop - note.offsetTop - note.clientHeight * 0.35;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    const name = { j: "finding-next", k: "finding-previous" }[event.key];
    document.getElementById(name)?.click();
  });
})();
