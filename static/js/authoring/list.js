// The occurrences as a table, in the order of the note or of time. Ticked ones can be merged.
import { element } from "../common/dom.js";
import { focusForm } from "./form.js";
import { scroller } from "./note.js";
import * as Author from "./state.js";

const { state } = Author;
const body = Author.find("[data-rows]");
const table = body.closest("table");
const progress = Author.find("[data-progress]");
const progressWords = Author.find("[data-progress-words]");
const merge = Author.find("[data-do=merge]");
const todoOnly = Author.find("[data-todo-only]");
const empty = Author.find("[data-list-empty]");
state.inTime = Author.remembered.get("inTime", false);

function row(o, number) {
  const made = element("tr", `row row-${Author.status(o)}`);
  made.dataset.uid = o.uid;
  made.tabIndex = -1;
  const tick = element("td", "tick-cell");
  if (!state.locked) {
    const box = Object.assign(element("input"), {
      type: "checkbox",
      checked: state.ticked.has(o.uid),
      disabled: Boolean(o.busy),
      tabIndex: -1,
    });
    box.setAttribute("aria-label", `Tick ${o.mention} for merging`);
    tick.append(box);
  }
  const name = element("th", "row-name");
  name.scope = "row";
  name.append(element("span", "row-mention", o.mention));
  if (o.polarity !== "present") name.append(element("span", "absent", o.polarity));
  const when = element("td", "row-when");
  when.append(element("span", `status status-${Author.status(o)}`, Author.momentWords(o)));
  const saving = element("td", "row-saving");
  if (o.waiting) {
    saving.append(
      Object.assign(element("span", "", "●"), { title: "not saved yet" }),
      element("span", "visually-hidden", "not saved yet"),
    );
  }
  made.append(tick, element("td", "num muted", String(number)), name, when, saving);
  return made;
}

function draw() {
  const number = new Map(Author.inNote().map((o, at) => [o.uid, at + 1]));
  const all = Author.ordered();
  const shown = todoOnly.checked ? all.filter((o) => !o.placed || o.uid === state.selected) : all;
  const focused = body.contains(document.activeElement)
    ? document.activeElement.closest("tr").dataset.uid
    : null;
  const top = table.parentElement.scrollTop;
  body.replaceChildren(...shown.map((o) => row(o, number.get(o.uid))));
  table.parentElement.scrollTop = top;
  table.hidden = !shown.length;
  empty.hidden = shown.length > 0;
  empty.querySelector("[data-empty-words]").textContent = all.length
    ? "All occurrences are placed."
    : "";
  empty.querySelector("[data-empty-help]").hidden = all.length > 0;
  const placed = all.filter((o) => o.placed).length;
  progress.max = Math.max(all.length, 1);
  progress.value = placed;
  progressWords.textContent = all.length
    ? `${placed} of ${all.length} placed`
    : "no occurrence marked yet";
  light();
  ticked();
  if (focused) rowOf(focused)?.focus();
}

const rowOf = (uid) => body.querySelector(`tr[data-uid="${CSS.escape(uid)}"]`);
function light() {
  for (const one of body.querySelectorAll("tr")) {
    const chosen = one.dataset.uid === state.selected;
    one.classList.toggle("is-selected", chosen);
    one.tabIndex = chosen || (!state.selected && one === body.firstElementChild) ? 0 : -1;
    if (chosen) one.setAttribute("aria-current", "true");
    else one.removeAttribute("aria-current");
  }
  if (body.rows.length && !body.querySelector('tr[tabindex="0"]')) body.rows[0].tabIndex = 0;
}

function ticked() {
  merge.disabled = state.locked || state.ticked.size < 2;
  merge.textContent = state.ticked.size > 1 ? `Merge ${state.ticked.size}` : "Merge";
  for (const box of body.querySelectorAll("input")) {
    box.checked = state.ticked.has(box.closest("tr").dataset.uid);
  }
}

// The first in the note keeps its UID, name and time; the merged mark spans all.
export function mergeTicked() {
  const uids = Author.inNote().map((o) => o.uid).filter((uid) => state.ticked.has(uid));
  if (uids.length < 2) return;
  state.ticked.clear();
  Author.edit("merge", { uids });
  Author.announce(`Merging ${uids.length} occurrences`);
}

function sort() {
  Author.remembered.set("inTime", state.inTime);
  for (const button of Author.root.querySelectorAll("[data-order]")) {
    button.setAttribute("aria-pressed", String((button.dataset.order === "time") === state.inTime));
  }
  draw();
}

body.addEventListener("click", (event) => {
  const one = event.target.closest("tr");
  if (!one) return;
  if (event.target.matches("input")) Author.tick(one.dataset.uid, event.target.checked);
  else if (event.ctrlKey || event.metaKey) {
    Author.tick(one.dataset.uid, !state.ticked.has(one.dataset.uid));
  } else Author.select(one.dataset.uid, "list");
});
body.addEventListener("keydown", (event) => {
  const one = event.target.closest("tr");
  const to = {
    ArrowDown: one.nextElementSibling,
    ArrowUp: one.previousElementSibling,
    Home: body.firstElementChild,
    End: body.lastElementChild,
  };
  if (event.key in to) {
    if (to[event.key]) {
      to[event.key].focus();
      Author.select(to[event.key].dataset.uid, "list");
    }
  } else if (event.key === "Enter" && event.target === one) {
    Author.select(one.dataset.uid, "list");
    focusForm();
  } else if (event.key === " " && event.target === one && !state.locked) {
    Author.tick(one.dataset.uid, !state.ticked.has(one.dataset.uid));
  } else return;
  event.preventDefault();
  event.stopPropagation();
});
for (const button of Author.root.querySelectorAll("[data-order]")) {
  button.addEventListener("click", () => {
    state.inTime = button.dataset.order === "time";
    sort();
  });
}
todoOnly.addEventListener("change", draw);
Author.on("document", draw);
Author.on("ticked", ticked);
Author.on("renamed", draw);
Author.on("select", (occurrence, from) => {
  if (todoOnly.checked) draw();
  light();
  if (occurrence && from !== "list") rowOf(occurrence.uid)?.scrollIntoView({ block: "nearest" });
});
export const focusList = () => (body.querySelector('tr[tabindex="0"]') ?? scroller).focus();
sort();
