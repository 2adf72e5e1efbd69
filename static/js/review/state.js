// What the review page knows: where it stands in the packet, the item before the reviewer, and what waits to be saved.
// Answers, comments and the next item live in this page's memory alone: nothing of them is put into the browser's storage.
window.ReviewPage = (() => {
  "use strict";
  const root = document.getElementById("review");
  const { mode, person, packet, next, undo } = root.dataset;
  const listeners = {};
  const state = {
    done: Number(root.dataset.done),
    total: Number(root.dataset.total),
    left: root.dataset.left,
    // Decisions, skips and undos on their way, oldest first.
    pending: [],
  };

  const on = (name, listener) => (listeners[name] ??= []).push(listener);
  const tell = (name, ...values) => (listeners[name] ?? []).forEach((listener) => listener(...values));
  const token = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const find = (selector) => root.querySelector(selector);
  const element = (name, className = "", text = "") => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };

  const announcer = find("[data-announce]");
  function announce(words) {
    announcer.textContent = announcer.textContent === words ? `${words}\u00A0` : words;
  }

  const notice = find("[data-notice]");
  function note(words) {
    notice.hidden = !words;
    notice.querySelector("[data-notice-words]").textContent = words;
    if (words) announce(words);
  }

  // What the server says of the packet, or what follows from it until the server is heard again.
  function progress(said) {
    Object.assign(state, said);
    const bar = find("[data-progress]");
    bar.max = Math.max(state.total, 1);
    bar.value = state.done;
    find("[data-position]").textContent = position();
    find("[data-left-words]").textContent = state.left;
    find("[data-do=undo]")?.toggleAttribute("disabled", state.done < 1);
  }
  // An answer of one's own choice is changed: there is no place in a row of items, nothing to undo and nothing to skip.
  const changing = "changing" in root.dataset;
  const position = () => changing ? "Changing an answer" : `${Math.min(state.done + 1, state.total)} of ${state.total}`;

  return {
    root, mode, person, changing, state, on, tell, token, find, element, announce, note, progress, position,
    urls: { packet, next, undo },
    item: () => root.querySelector("[data-item]"),
  };
})();
