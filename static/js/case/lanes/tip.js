// The box beside the pointer: an occurrence with its times, or the words of a group of marks.
import { element } from "../../common/dom.js";
import * as Case from "../state.js";

const box = Case.find("[data-tip]");
const LISTED = 8;

function place(event) {
  box.hidden = false;
  box.style.left = `${Math.min(event.clientX + 14, innerWidth - 320)}px`;
  box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
}

export function hideTip() {
  box.hidden = true;
}

export function showItem(item, event) {
  box.replaceChildren(
    element("b", "", item.m),
    element("span", `status status-${item.s}`, Case.momentWords(item)),
  );
  const notes = [
    item.sw && `${item.sw} than the text (${item.tw})`,
    item.b,
    item.rw && `reference ${item.rw}`,
  ].filter(Boolean);
  if (notes.length) box.append(element("span", "muted", notes.join(" · ")));
  place(event);
}

export function showMany(items, event) {
  box.replaceChildren(
    ...items.slice(0, LISTED).map((item) => element("span", `status status-${item.s}`, item.m)),
  );
  if (items.length > LISTED) {
    box.append(element("span", "muted", `and ${items.length - LISTED} more`));
  }
  box.append(element("span", "muted", "Click to show all of this lane"));
  place(event);
}
