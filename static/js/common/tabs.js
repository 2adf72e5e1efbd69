// A row of tabs: a click or an arrow key chooses one.

// Marks one tab as chosen; only it is in the order of the Tab key.
export function markTab(tabs, chosen) {
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
  }
}

// Calls `show` with the tab that is clicked, or reached by an arrow, Home or End.
export function listenToTabs(tabs, show) {
  for (const [at, tab] of tabs.entries()) {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const to = {
        ArrowLeft: tabs.at(at - 1),
        ArrowRight: tabs[(at + 1) % tabs.length],
        Home: tabs[0],
        End: tabs.at(-1),
      }[event.key];
      if (!to) return;
      event.preventDefault();
      show(to);
      to.focus();
    });
  }
}
