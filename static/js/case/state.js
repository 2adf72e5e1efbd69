// The one state of the case page: which occurrence is selected and which time window is shown. Note, plot, table and panel listen.
window.CasePage = (() => {
  "use strict";
  const root = document.getElementById("case");
  const data = JSON.parse(document.getElementById("case-data").textContent);
  const items = data.items;
  const byUid = new Map(items.map((item, index) => [item.u, index]));
  const listeners = { select: [], window: [], hover: [], search: [] };
  const state = { selected: -1, window: [0, 1], hits: null };

  const on = (name, listener) => listeners[name].push(listener);
  const tell = (name, ...values) => listeners[name].forEach((listener) => listener(...values));
  const selectedItem = () => (state.selected < 0 ? null : items[state.selected]);
  const whole = () => state.window[0] <= 0 && state.window[1] >= 1;

  function inWindow(item) {
    return whole() || (item.x !== undefined && item.x >= state.window[0] && item.x <= state.window[1]);
  }

  // Only ids travel in the address: what the page was opened with, the timeline (unless it is the default one), the evaluation whose
  // pairs are drawn, and the occurrence.
  function address(uid) {
    const parameters = new URLSearchParams(root.dataset.query || "");
    if (root.dataset.timeline !== root.dataset.default) parameters.set("t", root.dataset.timeline);
    if (root.dataset.evaluation) {
      parameters.set("e", root.dataset.evaluation);
      parameters.set("b", root.dataset.basis);
    }
    if (uid) parameters.set("o", uid);
    const query = parameters.toString();
    return root.dataset.case + (query ? `?${query}` : "");
  }

  function select(index, from) {
    if (index === state.selected || index >= items.length) return;
    state.selected = index;
    const item = selectedItem();
    history.replaceState(null, "", address(item?.u));
    tell("select", item, from);
  }

  function selectUid(uid, from) {
    if (byUid.has(uid)) select(byUid.get(uid), from);
  }

  function setWindow(start, end) {
    const width = Math.min(1, Math.max(0.01, end - start));
    const from = Math.min(Math.max(0, start), 1 - width);
    const next = [from, from + width];
    if (Math.abs(next[0] - state.window[0]) < 1e-4 && Math.abs(next[1] - state.window[1]) < 1e-4) return;
    state.window = next;
    tell("window", next);
  }

  function zoom(factor) {
    const [start, end] = state.window;
    const item = selectedItem();
    const centre = item && inWindow(item) && item.x !== undefined ? item.x : (start + end) / 2;
    const share = (centre - start) / (end - start);
    const width = (end - start) * factor;
    setWindow(centre - share * width, centre + (1 - share) * width);
  }

  // Goes through `order` (indices of items) from the selected one, or to its first with `fromStart`; what is filtered away is passed over.
  function step(order, direction, from, fromStart = false) {
    const shown = order.filter((index) => inWindow(items[index]));
    if (!shown.length) return;
    const at = fromStart && shown[0] !== state.selected ? -1 : shown.indexOf(state.selected);
    const first = direction > 0 || fromStart ? 0 : shown.length - 1;
    select(shown[at < 0 ? first : (at + direction + shown.length) % shown.length], from);
  }

  // The largest change first, whatever is selected; then on from there, until something else is selected.
  let walking = false;
  const stepByShift = (direction) => page.step(byShift, direction, "shift", !walking);
  on("select", (_, from) => (walking = from === "shift"));

  const inNote = items.map((_, index) => index);
  const inTime = inNote.filter((i) => items[i].x !== undefined).sort((a, b) => items[a].t - items[b].t || a - b);
  // Changes by a row of the record, and all beyond tolerance; a year more or less in a far past is not among them.
  const changed = (item) => item.d && (item.f || item.s === "moved" || item.s === "differs");
  const byShift = inNote.filter((i) => changed(items[i])).sort((a, b) => Math.abs(items[b].d) - Math.abs(items[a].d) || a - b);

  const remembered = {
    get(key, otherwise) {
      try {
        return JSON.parse(localStorage.getItem(`case.${key}`)) ?? otherwise;
      } catch {
        return otherwise;
      }
    },
    set(key, value) {
      try {
        localStorage.setItem(`case.${key}`, JSON.stringify(value));
      } catch {
        // Not remembered where storage is forbidden.
      }
    },
  };

  const element = (name, className = "", text = "") => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };
  const statusWords = { explicit: "stated in the note", inferred: "inferred from the note", moved: "moved by evidence", unplaced: "not placed", unspecified: "basis not given" };
  const momentWords = (item) => (item.c ? `${item.w} (${item.c})` : item.w);

  const page = {
    root, data, items, state, byUid, on, tell, select, selectUid, selectedItem, setWindow, zoom, step, stepByShift, inWindow, whole, address,
    inNote, inTime, byShift, remembered, element, statusWords, momentWords,
    find: (selector) => root.querySelector(selector),
  };
  return page;
})();
