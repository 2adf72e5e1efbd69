// The notes of a chart as tabs: one shows a note alone, the first shows all. An occurrence or a
// place that is reached by other ways brings the tab of its note.
import { listenToTabs, markTab } from "../common/tabs.js";
import { noteBody } from "./note.js";
import * as Case from "./state.js";

const tabs = [...Case.root.querySelectorAll("[data-note-tab]")];
const parts = [...noteBody.querySelectorAll("[data-note-part]")];
const panel = Case.find("[data-note]");

function show(tab) {
  const { noteTab } = tab.dataset;
  markTab(tabs, tab);
  noteBody.toggleAttribute("data-alone", noteTab !== "all");
  for (const part of parts) part.hidden = noteTab !== "all" && part.dataset.notePart !== noteTab;
  panel.setAttribute("aria-labelledby", tab.id);
  panel.scrollTop = 0;
}

listenToTabs(tabs, show);

Case.on("reveal", (place) => {
  const part = place.closest("[data-note-part]");
  if (part?.hidden) show(tabs.find((tab) => tab.dataset.noteTab === part.dataset.notePart));
});
