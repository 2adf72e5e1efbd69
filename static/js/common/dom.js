// Small helpers for building a page.

export function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

// Returns a function that announces words to a screen reader, even if they repeat.
export function announcerIn(box) {
  return (words) => {
    box.textContent = box.textContent === words ? `${words}\u00A0` : words;
  };
}

// Scrolls a box so that an element or a range in it is in sight.
export function bringInto(scroller, shown) {
  const box = shown.getBoundingClientRect();
  const frame = scroller.getBoundingClientRect();
  if (box.top < frame.top + 48 || box.bottom > frame.bottom - 48) {
    scroller.scrollTop += box.top - frame.top - frame.height * 0.35;
  }
}
