// Zoom and pan with wheel and pointer. The whole axis has nothing to pan: dragging over it chooses
// a window.
import { element } from "../../common/dom.js";
import * as Case from "../state.js";
import { zoomed } from "../window.js";

const DRAGGED = 4;
const LEAST = 0.004;
const STEP = 0.2;

// `scaleOf` returns the scale that is drawn.
export function listenToGestures(scroller, body, scaleOf) {
  const shareAt = (event) => {
    const scale = scaleOf();
    const x = event.clientX - body.getBoundingClientRect().left;
    return scale.back(Math.min(scale.right, Math.max(scale.left, x)));
  };

  scroller.addEventListener("wheel", (event) => {
    const [start, end] = Case.state.window;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const factor = event.deltaY > 0 ? 1.2 : 1 / 1.2;
      Case.setWindow(...zoomed([start, end], factor, shareAt(event)));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const by = (event.deltaX / scaleOf().width) * (end - start);
      Case.setWindow(start + by, end + by);
    }
  }, { passive: false });

  scroller.addEventListener("keydown", (event) => {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!direction || !event.shiftKey || event.target !== scroller) return;
    event.preventDefault();
    event.stopPropagation();
    const [start, end] = Case.state.window;
    const by = direction * STEP * (end - start);
    Case.setWindow(start + by, end + by);
  });

  const brush = body.appendChild(element("div", "lanes-brush"));
  brush.hidden = true;
  body.addEventListener("pointerdown", (event) => {
    const inside = event.clientX - body.getBoundingClientRect().left > scaleOf().left;
    if (event.button !== 0 || event.pointerType === "touch" || !inside) return;
    if (event.target.closest("button")) return;
    const whole = Case.whole();
    const from = shareAt(event);
    const [start, end] = Case.state.window;
    let dragged = false;
    const move = (moved) => {
      if (!dragged && Math.abs(moved.clientX - event.clientX) < DRAGGED) return;
      if (!dragged) scroller.setPointerCapture(event.pointerId);
      dragged = true;
      if (whole) {
        const to = shareAt(moved);
        const scale = scaleOf();
        brush.hidden = false;
        brush.style.left = `${scale.of(Math.min(from, to))}px`;
        brush.style.width = `${Math.abs(scale.of(to) - scale.of(from))}px`;
      } else {
        const by = ((event.clientX - moved.clientX) / scaleOf().width) * (end - start);
        Case.setWindow(start + by, end + by);
      }
    };
    const stop = (stopped) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
      brush.hidden = true;
      if (!dragged) return;
      // The click after a drag selects nothing.
      body.dataset.dragged = "true";
      setTimeout(() => delete body.dataset.dragged, 0);
      if (!whole || stopped.type === "pointercancel") return;
      const to = shareAt(stopped);
      if (Math.abs(to - from) > LEAST) Case.setWindow(Math.min(from, to), Math.max(from, to));
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  });
  body.addEventListener("dblclick", (event) => {
    if (!event.target.closest("button, [data-u], [data-more]")) Case.setWindow(0, 1);
  });
}
