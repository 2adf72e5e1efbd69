// The tabs of the right pane: Story, Lanes, Table, Record. The choice is remembered.
import { listenToTabs, markTab } from "../common/tabs.js";
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
  markTab(tabs, chosen);
  for (const tab of tabs) panelOf(tab).hidden = tab !== chosen;
  if (remember) Case.remembered.set("tab", name);
  if (focus) chosen.focus();
  Case.emit("tab", name);
}

for (const name of tabNames) actions[`tab-${name}`] = () => showTab(name, { focus: true });
listenToTabs(tabs, (tab) => showTab(tab.dataset.tab));

// Called once every panel has added its listeners. The pairs of an evaluation are drawn in the lanes.
export function startTabs() {
  const wanted = Case.data.pairs ? "lanes" : Case.remembered.get("tab", tabNames[0]);
  showTab(tabNames.includes(wanted) ? wanted : tabNames[0], { remember: false });
}
