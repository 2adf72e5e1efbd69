// Drug classes above the medications: a class shows all of its drugs, and when.
import { element } from "../../common/dom.js";

// The classes that the note's occurrences have, and further ones that the record alone has.
export function groupsOf(classes, tracks) {
  const named = Object.keys(classes);
  const further = new Set(tracks.flatMap((track) => track.classes ?? []));
  for (const name of named) further.delete(name);
  return { named, further: [...further].sort((a, b) => a.localeCompare(b, "en")) };
}

// `choose` gets the class, or "" for none, and whether all classes are listed.
export function drawChips({ named, further }, { group, all, choose }) {
  if (!named.length && !further.length) return [];
  const box = element("div", "lane-chips");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Drug classes");
  const open = all || further.includes(group);
  const add = (words, pressed, act) => {
    const chip = box.appendChild(element("button", "chip", words));
    chip.type = "button";
    chip.setAttribute("aria-pressed", String(pressed));
    chip.addEventListener("click", act);
    return chip;
  };
  for (const name of open ? [...named, ...further] : named) {
    add(name, name === group, () => choose(name === group ? "" : name));
  }
  if (further.length) {
    const words = open
      ? "fewer classes"
      : `${further.length} more ${further.length === 1 ? "class" : "classes"}`;
    const chip = add(words, false, () => choose(open ? "" : group, !open));
    chip.classList.add("chip-more");
    chip.removeAttribute("aria-pressed");
    chip.setAttribute("aria-expanded", String(open));
  }
  return [box];
}
