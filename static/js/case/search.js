// The search: words of the note, of its occurrences and, on the case page, of the record. What
// matches stays dark, the rest is dimmed; Enter goes on to the next place.
import { bringInto } from "../common/dom.js";
import { folded } from "../common/filter.js";
import { createFinder } from "./ranges.js";
import * as Case from "./state.js";

export const search = document.getElementById("case-search");
const count = document.getElementById("case-search-count");
const body = Case.find("[data-note-body]");
const scroller = Case.find("[data-note]");
const findInNote = body && createFinder(body);
const canMark = typeof Highlight === "function" && CSS.highlights;
const marks = { all: canMark && new Highlight(), current: canMark && new Highlight() };
if (canMark) {
  CSS.highlights.set("note-hits", marks.all);
  CSS.highlights.set("note-hit", marks.current);
  marks.current.priority = 1;
}
const state = { places: [], at: -1, series: null };
// The case page asks the record too: a function of the words that returns the number of series.
let askRecord = null;
export const searchRecordBy = (ask) => (askRecord = ask);
const WAIT_MS = 350;
let waiting = 0;

const segmentOf = (range) => range.startContainer.parentElement.closest(".seg");

// The occurrences that a place of the note is in, innermost first.
function occurrencesAt(range) {
  const uids = segmentOf(range)?.dataset.o.split(" ") ?? [];
  return uids.map((uid) => Case.byUid.get(uid)).filter((index) => index !== undefined);
}

function words() {
  if (!search.value.trim()) return "";
  if (!findInNote) return `${Case.state.hits.size} found`;
  const { places, at, series } = state;
  // A class of drugs is no word of the note.
  const byClass = !places.length && Case.state.hits.size > 0;
  const inNote = byClass
    ? `${Case.state.hits.size} found`
    : at >= 0
    ? `${at + 1} of ${places.length}`
    : `${places.length} in the note`;
  return series === null ? inNote : `${inNote} · ${series} series`;
}

function mark() {
  marks.all?.clear();
  marks.current?.clear();
  for (const range of state.places) marks.all?.add(range);
  if (state.at >= 0) marks.current?.add(state.places[state.at]);
  body?.classList.toggle("is-searched", Boolean(search.value.trim()));
  count.textContent = words();
}

function bring(range) {
  Case.emit("reveal", range.startContainer.parentElement);
  bringInto(scroller, range);
}

function find() {
  const wanted = folded(search.value.trim());
  state.places = wanted && findInNote ? findInNote(wanted) : [];
  state.at = -1;
  state.series = null;
  Case.state.hits = wanted
    ? new Set([
      ...Case.inNote.filter((index) => Case.searched[index].includes(wanted)),
      ...state.places.flatMap(occurrencesAt),
    ])
    : null;
  mark();
  if (state.places.length) bring(state.places[0]);
  Case.emit("search");
  clearTimeout(waiting);
  waiting = setTimeout(() => findInRecord(wanted), WAIT_MS);
}

async function findInRecord(wanted) {
  if (!askRecord) return;
  const series = await askRecord(search.value.trim());
  if (wanted !== folded(search.value.trim())) return;
  state.series = wanted ? series : null;
  count.textContent = words();
}

// Goes to the next place of the note, or to the next occurrence on a page without a note.
function go(direction) {
  if (!state.places.length) {
    const order = Case.inNote.filter((index) => Case.state.hits.has(index));
    Case.step(order, direction, "search");
    return;
  }
  const { places } = state;
  state.at = state.at < 0 && direction < 0
    ? places.length - 1
    : (state.at + direction + places.length) % places.length;
  const range = places[state.at];
  const wanted = folded(search.value.trim());
  const around = occurrencesAt(range);
  const chosen = around.find((index) => Case.searched[index].includes(wanted)) ?? around[0];
  if (chosen !== undefined) Case.select(chosen, "search");
  mark();
  bring(range);
}

// Returns whether there was something to clear.
export function clearSearch() {
  if (!search.value) return false;
  search.value = "";
  find();
  return true;
}

search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    event.preventDefault();
    clearSearch();
    search.blur();
  } else if (event.key === "Enter" && Case.state.hits) {
    event.preventDefault();
    go(event.shiftKey ? -1 : 1);
  }
});
search.form.addEventListener("submit", (event) => event.preventDefault());
