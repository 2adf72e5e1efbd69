// One finding: j and k go through the findings of its game. The quote and the cited row are
// scrolled into view inside their boxes.
const show = (box, part) => {
  if (!box || !part) return;
  box.scrollTop += part.getBoundingClientRect().top - box.getBoundingClientRect().top -
    box.clientHeight * 0.35;
};
show(document.querySelector("[data-quoted]"), document.getElementById("quote"));
const cited = document.querySelector(".is-cited");
show(cited?.closest(".rows-wrap"), cited);
document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, [contenteditable]")) return;
  const name = { j: "finding-next", k: "finding-previous" }[event.key];
  document.getElementById(name)?.click();
});
