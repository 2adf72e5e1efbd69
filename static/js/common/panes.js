// The dividers between the panes: moved by dragging or with the arrow keys, and remembered.
const KINDS = {
  note: { property: "--note-share", otherwise: 46, least: 25, most: 70, across: true },
  plot: { property: "--plot-share", otherwise: 48, least: 18, most: 80, across: false },
};

// `remembered` stores the shares (see remembered.js); `first` has other first shares by name.
export function splitPanes(panes, remembered, first = {}) {
  for (const splitter of panes.querySelectorAll("[data-splitter]")) {
    const kind = KINDS[splitter.dataset.splitter];
    const key = `share.${splitter.dataset.splitter}`;
    const otherwise = first[splitter.dataset.splitter] ?? kind.otherwise;
    let share = remembered.get(key, otherwise);

    const set = (value) => {
      share = Math.min(kind.most, Math.max(kind.least, value));
      panes.style.setProperty(kind.property, `${share}%`);
      splitter.setAttribute("aria-valuenow", String(Math.round(share)));
      remembered.set(key, share);
    };
    splitter.setAttribute("aria-valuemin", String(kind.least));
    splitter.setAttribute("aria-valuemax", String(kind.most));
    set(share);

    splitter.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -2, ArrowUp: -2, ArrowRight: 2, ArrowDown: 2 }[event.key];
      if (move) set(share + move);
      else if (event.key === "Home") set(kind.least);
      else if (event.key === "End") set(kind.most);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    splitter.addEventListener("dblclick", () => set(otherwise));
    splitter.addEventListener("pointerdown", (event) => {
      splitter.setPointerCapture(event.pointerId);
      const move = (moved) => {
        const box = panes.getBoundingClientRect();
        set(
          kind.across
            ? (100 * (moved.clientX - box.left)) / box.width
            : (100 * (moved.clientY - box.top)) / box.height,
        );
      };
      const stop = () => {
        splitter.removeEventListener("pointermove", move);
        splitter.removeEventListener("pointerup", stop);
      };
      splitter.addEventListener("pointermove", move);
      splitter.addEventListener("pointerup", stop);
    });
  }
}
