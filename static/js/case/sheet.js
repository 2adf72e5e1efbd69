// On small screens the inspector is a sheet of half the height. It opens in the half in which
// nothing was tapped.
import * as Case from "./state.js";

const pane = Case.find("[data-chain-pane]");
const OF_NOTE = new Set(["note", "keys", "shift", "search", "address", "chain"]);

Case.on("select", (item, from) => {
  if (item) pane.classList.toggle("is-above", !OF_NOTE.has(from));
});
