// The tabs of the right pane: Story, Lanes, Table, Record. The choice is remembered.
import { actions } from "./keys.js";
import * as Case from "./state.js";

const tabs = [...Case.root.querySelectorAll("[data-tab]")];
const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
const tabNames = tabs.map((tab) => tab.dataset.tab);

export const openTab = () => tabs.find((tab) => tab.getAttribute("aria-selected") === "true");

// Shows one panel and emits "tab" with its name, so that a panel may fill itself on first opening.
export function showTab(name, { focus = false, remember = true } = {}) {
  const chosen = tabs.find((tab) => tab.dataset.tab === name);
  if (!chosen) return;
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
    panelOf(tab).hidden = tab !== chosen;
  }
  if (remember) Case.remembered.set("tab", name);
  if (focus) chosen.focus();
  Case.emit("tab", name);
}

for (const name of tabNames) actions[`tab-${name}`] = () => showTab(name, { focus: true });
for (const tab of tabs) {
  tab.addEventListener("click", () => showTab(tab.dataset.tab));
  tab.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(tab);
    const to = {
      ArrowLeft: tabs.at(at - 1),
      ArrowRight: tabs[(at + 1) % tabs.length],
      Home: tabs[0],
      End: tabs.at(-1),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    showTab(to.dataset.tab, { focus: true });
  });
}

// Called once every panel has added its listeners. The pairs of an evaluation are drawn in the lanes.
export function startTabs() {
  const wanted = Case.data.pairs ? "lanes" : Case.remembered.get("tab", tabNames[0]);
  showTab(tabNames.includes(wanted) ? wanted : tabNames[0], { remember: false });
}
