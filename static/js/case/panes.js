// Maximises a pane, or shows all of them again.
import { actions } from "./keys.js";
import * as Case from "./state.js";

const panes = Case.find("[data-panes]");

function maximise(name) {
  const maximised = panes.dataset.max === name ? "" : name;
  if (maximised) panes.dataset.max = maximised;
  else delete panes.dataset.max;
  for (const button of panes.querySelectorAll(".maximise")) {
    button.setAttribute("aria-pressed", String(button.dataset.do === `maximise-${maximised}`));
  }
}

actions.maximise = () => {
  const focused = document.activeElement?.closest("[data-pane]")?.dataset.pane;
  maximise(panes.dataset.max || focused || "tabs");
};
for (const name of ["note", "tabs"]) actions[`maximise-${name}`] = () => maximise(name);
