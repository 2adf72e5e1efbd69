// On small screens the inspector is a sheet of half the height. It opens in the half in which
// nothing was tapped.
import * as Case from "./state.js";

const pane = Case.find("[data-chain-pane]");
const OF_NOTE = new Set(["note", "keys", "shift", "search", "address", "chain"]);

const phone = matchMedia("(max-width: 40rem)");
let tapped = null;
Case.root.addEventListener("pointerdown", (event) => {
  if (!pane.contains(event.target)) tapped = event.target;
}, { capture: true });

// On a phone the sheet is always below, and the page moves what was tapped above it.
function bringAbove() {
  if (!phone.matches || !tapped?.isConnected) return;
  const { top, bottom } = tapped.getBoundingClientRect();
  const edge = pane.getBoundingClientRect().top;
  if (bottom > edge - 8 && top > 0) tapped.scrollIntoView({ block: "center" });
  const after = tapped.getBoundingClientRect();
  if (after.bottom > edge) scrollBy(0, after.bottom - edge + 24);
}

Case.on("select", (item, from) => {
  if (!item) return;
  pane.classList.toggle("is-above", !OF_NOTE.has(from));
  setTimeout(bringAbove, 200);
});
