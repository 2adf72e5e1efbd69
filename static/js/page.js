import { writeSaid } from "./common/moment.js";

// What every page does: the buttons for theme and clock, forms whose selects submit them, and the dialog opener.
const THEMES = ["auto", "light", "dark"];
const WORDS = { auto: "as the system", light: "light", dark: "dark" };
const SIGNS = { auto: "◐", light: "○", dark: "●" };
const root = document.documentElement;
const toggle = document.querySelector("[data-theme-toggle]");

// Stores a choice of the root element for js/theme.js.
function remember(name) {
  try {
    localStorage.setItem(name, root.dataset[name]);
  } catch {
    // The browser may block storage; the choice is not remembered then.
  }
}

function show() {
  if (!toggle) return;
  toggle.textContent = SIGNS[root.dataset.theme];
  toggle.setAttribute("aria-label", `Colour theme: ${WORDS[root.dataset.theme]}`);
  toggle.title = toggle.getAttribute("aria-label");
}

toggle?.addEventListener("click", () => {
  root.dataset.theme = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
  remember("theme");
  show();
  document.dispatchEvent(new CustomEvent("themechange"));
});
show();

// Times are written as hospital day and clock, or as hours from admission.
const clock = document.querySelector("[data-clock-toggle]");

function sayClock() {
  if (!clock) return;
  const hours = root.dataset.clock === "hours";
  clock.textContent = hours ? "+h" : "HD";
  clock.setAttribute("aria-pressed", String(hours));
}

function switchClock() {
  root.dataset.clock = root.dataset.clock === "hours" ? "day" : "hours";
  remember("clock");
  sayClock();
  writeSaid(document);
  document.dispatchEvent(new CustomEvent("clockchange"));
}

clock?.addEventListener("click", switchClock);
// On the window: a page that has its own use for the key has taken it by then.
addEventListener("keydown", (event) => {
  if (event.key !== "t" || event.defaultPrevented || event.ctrlKey || event.metaKey) return;
  if (event.altKey || !clock || document.querySelector("dialog[open]")) return;
  if (event.target.closest?.("input, select, textarea, [contenteditable]")) return;
  event.preventDefault();
  switchClock();
});
sayClock();
writeSaid(document);
document.addEventListener("htmx:load", (event) => writeSaid(event.target));

for (const form of document.querySelectorAll("[data-submit-on-change]")) {
  form.querySelector("[data-replaced-by-change]")?.setAttribute("hidden", "");
  form.addEventListener(
    "change",
    (event) => event.target.matches("select") && form.requestSubmit(),
  );
}
// A fragment's request may be redirected, for example to the sign-in page after the session ended.
// That page must not be inserted into this one.
document.addEventListener("htmx:beforeSwap", (event) => {
  const answered = event.detail.xhr.responseURL;
  if (
    answered &&
    new URL(answered).pathname !==
      new URL(event.detail.pathInfo.requestPath, location.href).pathname
  ) {
    event.preventDefault();
    location.reload();
  }
});
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  // The button of a form that needs confirmation opens a dialog that names the loss. Without
  // scripts the form is submitted directly.
  const asking = document.getElementById(event.target.closest("[data-asks]")?.dataset.asks);
  if (asking) {
    event.preventDefault();
    asking.showModal();
  }
  const closer = event.target.closest("[data-closes]");
  if (closer) closer.closest("dialog")?.close();
});
