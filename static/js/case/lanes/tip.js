// The box beside the pointer: an occurrence with its times, or the words of a group of marks.
import { element } from "../../common/dom.js";
import { chosenOf } from "../../common/moment.js";
import * as Case from "../state.js";

const box = Case.find("[data-tip]");
const LISTED = 8;

export function showTip(event, ...lines) {
  box.replaceChildren(...lines);
  box.hidden = false;
  box.style.left = `${Math.min(event.clientX + 14, innerWidth - 320)}px`;
  box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
}

export function hideTip() {
  box.hidden = true;
}

export function showItem(item, event) {
  const notes = [
    item.sw && `${item.sw} than the text (${chosenOf(item.tw)})`,
    item.b && chosenOf(item.b),
    item.rw && `reference ${chosenOf(item.rw)}`,
  ].filter(Boolean);
  showTip(
    event,
    element("b", "", item.m),
    element("span", `status status-${item.s}`, Case.momentWords(item)),
    ...(notes.length ? [element("span", "muted", notes.join(" · "))] : []),
  );
}

export function showMany(items, event) {
  const more = items.length - LISTED;
  showTip(
    event,
    ...items.slice(0, LISTED).map((item) => element("span", `status status-${item.s}`, item.m)),
    ...(more > 0 ? [element("span", "muted", `and ${more} more`)] : []),
    element("span", "muted", "Click to show all of this lane"),
  );
}
