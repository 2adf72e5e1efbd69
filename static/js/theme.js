// Applies the remembered colour theme and way to write times before the first paint. Loaded in the head, without `defer`.
(() => {
  "use strict";
  let theme = "auto";
  let clock = "day";
  try {
    theme = localStorage.getItem("theme") || "auto";
    clock = localStorage.getItem("clock") || "day";
  } catch {
    // The browser may block storage; the system's theme is used then.
  }
  document.documentElement.dataset.theme = ["light", "dark"].includes(theme) ? theme : "auto";
  document.documentElement.dataset.clock = clock === "hours" ? "hours" : "day";
})();
