// The slider of a stay: links beside it move it, where scripts work, instead of loading the page.
const form = document.querySelector("[data-as-of]");
const slider = form?.querySelector('input[type="range"]');

function go(hour) {
  slider.value = String(hour);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-step], [data-to]");
  if (!link || !slider || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const { step, to } = link.dataset;
  go(to === undefined ? Number(slider.value) + Number(step) : Number(to));
});

// Arrow keys move by an hour, not by a hundredth of the range.
slider?.addEventListener("keydown", (event) => {
  const steps = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageUp: 6,
    PageDown: -6,
  };
  if (!(event.key in steps)) return;
  event.preventDefault();
  go(Number(slider.value) + steps[event.key]);
});

for (const choice of form?.querySelectorAll("select") ?? []) {
  choice.addEventListener("change", () => form.submit());
}
