// What every page does: the theme button, selects that submit their form, and the dialog opener.
const THEMES = ["auto", "light", "dark"];
const WORDS = { auto: "as the system", light: "light", dark: "dark" };
const SIGNS = { auto: "◐", light: "○", dark: "●" };
const root = document.documentElement;
const toggle = document.querySelector("[data-theme-toggle]");

function show() {
  if (!toggle) return;
  toggle.textContent = SIGNS[root.dataset.theme];
  toggle.setAttribute("aria-label", `Colour theme: ${WORDS[root.dataset.theme]}`);
  toggle.title = toggle.getAttribute("aria-label");
}

toggle?.addEventListener("click", () => {
  root.dataset.theme = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // Not remembered where storage is forbidden.
  }
  show();
  document.dispatchEvent(new CustomEvent("themechange"));
});
show();

for (const select of document.querySelectorAll("[data-submit-on-change]")) {
  select.form.querySelector("[data-replaced-by-change]")?.setAttribute("hidden", "");
  select.addEventListener("change", () => select.form.requestSubmit());
}
// A fragment whose request was led elsewhere (to the sign-in page, after the session ended) must
// not land inside this page.
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
  // A form that asks first: its button opens the dialog that names what is lost. Without scripts
  // the form is sent as it is.
  const asking = document.getElementById(event.target.closest("[data-asks]")?.dataset.asks);
  if (asking) {
    event.preventDefault();
    asking.showModal();
  }
  const closer = event.target.closest("[data-closes]");
  if (closer) closer.closest("dialog")?.close();
});
