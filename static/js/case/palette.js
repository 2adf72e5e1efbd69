// The palette: go to a case, an occurrence, a series or an action. A combobox with a list; the
// focus stays in the field.
import { element } from "../common/dom.js";
import { folded, hasWords, wordsOf } from "../common/filter.js";
import { postWords } from "../common/server.js";
import { COMMANDS } from "./commands.js";
import { actions } from "./keys.js";
import { setMode } from "./note.js";
import { searchRecord } from "./record.js";
import * as Case from "./state.js";
import { showTab } from "./tabs.js";

const dialog = document.getElementById("case-palette");
const field = dialog.querySelector("input[role=combobox]");
const list = dialog.querySelector("[role=listbox]");
const status = dialog.querySelector("[role=status]");
const record = Case.find("[data-record]").dataset.record;
const MOST = 7;
const WAIT_MS = 200;
let options = [];
let active = 0;
let waiting = 0;

actions.clock = () => document.querySelector("[data-clock-toggle]")?.click();
for (const name of ["status", "kind", "uncertainty", "off"]) {
  actions[`mode-${name}`] = () => setMode(name);
}
actions.palette = () => {
  field.value = "";
  dialog.showModal();
  show();
};

function commands(words) {
  return COMMANDS
    .filter(([name, label]) => actions[name] && hasWords(label, words))
    .map(([name, label, key]) => ({ group: "Actions", label, key, run: actions[name] }));
}

// Mentions in which a word begins with the text come first.
function occurrences(text) {
  const wanted = folded(text);
  const begins = (index) => ` ${Case.searched[index]}`.includes(` ${wanted}`);
  return Case.inNote
    .filter((index) => Case.searched[index].includes(wanted))
    .sort((a, b) => begins(b) - begins(a) || a - b)
    .slice(0, MOST)
    .map((index) => {
      const item = Case.items[index];
      return {
        group: "Occurrences",
        label: item.m,
        detail: Case.momentWords(item),
        run: () => Case.select(index, "keys"),
      };
    });
}

async function cases(text) {
  const found = await (await postWords(dialog.dataset.find, text))?.json() ?? [];
  return found.slice(0, MOST).map(({ url, label, detail }) => ({
    group: "Cases",
    label,
    detail,
    run: () => location.assign(url),
  }));
}

// The list of the Record tab becomes that of the words, with this series open.
async function openSeries(id, text) {
  showTab("record");
  await searchRecord(text);
  document.querySelector(`#series-list [aria-controls="${id}"]`)?.click();
}

async function series(text) {
  const made = document.createElement("template");
  made.innerHTML = await (await postWords(record, text))?.text() ?? "";
  const names = [...made.content.querySelectorAll("button.disclose")].slice(0, MOST);
  return names.map((button) => {
    const id = button.getAttribute("aria-controls");
    const label = button.textContent.trim();
    return { group: "Series of the record", label, run: () => openSeries(id, text) };
  });
}

function draw() {
  list.replaceChildren();
  let group = "";
  options.forEach((option, index) => {
    if (option.group !== group) {
      group = option.group;
      const head = list.appendChild(element("li", "palette-head", group));
      head.setAttribute("role", "presentation");
    }
    const made = list.appendChild(element("li", "palette-option"));
    made.id = `palette-${index}`;
    made.setAttribute("role", "option");
    made.append(element("span", "palette-label", option.label));
    if (option.detail) made.append(element("span", "muted", option.detail));
    if (option.key) made.append(element("kbd", "", option.key));
    made.addEventListener("click", () => choose(index));
  });
  if (!options.length) {
    const none = list.appendChild(element("li", "palette-head", "Nothing found"));
    none.setAttribute("role", "presentation");
  }
  status.textContent = `${options.length} found`;
  activate(Math.min(active, Math.max(0, options.length - 1)));
}

function activate(index) {
  active = index;
  list.querySelectorAll("[role=option]").forEach((option, at) => {
    option.setAttribute("aria-selected", String(at === index));
    if (at === index) option.scrollIntoView({ block: "nearest" });
  });
  if (options.length) field.setAttribute("aria-activedescendant", `palette-${index}`);
  else field.removeAttribute("aria-activedescendant");
}

function choose(index) {
  const chosen = options[index];
  if (!chosen) return;
  dialog.close();
  chosen.run();
}

function show() {
  const text = field.value.trim();
  const words = wordsOf(text);
  const here = [...(text ? occurrences(text) : []), ...commands(words)];
  options = here;
  active = 0;
  draw();
  clearTimeout(waiting);
  if (text.length > 1) {
    waiting = setTimeout(async () => {
      const [found, names] = await Promise.all([cases(text), series(text)]);
      if (text !== field.value.trim() || !dialog.open) return;
      const chosen = options[active];
      options = [...occurrences(text), ...names, ...found, ...commands(words)];
      active = Math.max(0, options.findIndex((o) => o.label === chosen?.label));
      draw();
    }, WAIT_MS);
  }
}

field.addEventListener("input", show);
dialog.addEventListener("keydown", (event) => {
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (move && options.length) activate((active + move + options.length) % options.length);
  else if (event.key === "Enter") choose(active);
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey) || event.altKey) return;
  event.preventDefault();
  if (dialog.open) dialog.close();
  else if (!document.querySelector("dialog[open]")) actions.palette();
});
