// Applies the remembered colour theme before the first paint. Loaded in the head, without `defer`.
(() => {
  "use strict";
  let theme = "auto";
  try {
    theme = localStorage.getItem("theme") || "auto";
  } catch {
    // The browser may block storage; the system's theme is used then.
  }
  document.documentElement.dataset.theme = ["light", "dark"].includes(theme) ? theme : "auto";
})();
