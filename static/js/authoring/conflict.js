// The timeline was changed in another window. Edits of other occurrences are saved on top of it;
// for the same occurrences the person decides.
import { element } from "../common/dom.js";
import { counted } from "../common/words.js";
import { touchedBy } from "./edits.js";
import * as Author from "./state.js";

const { state } = Author;
const dialog = document.getElementById("author-conflict");
const list = dialog.querySelector("[data-conflicts]");
const FIELDS = {
  mention: "Name",
  polarity: "Polarity",
  words: "Time",
  lower: "Not before",
  upper: "Not after",
  context: "Context",
  rows: "Record rows",
  reason: "Reason",
  start: "From character",
  end: "To character",
};

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// Called with the server's whole document. Returns whether saving can continue at once.
export function resolveConflict(answer) {
  const mine = Author.currentView();
  const theirs = new Map(answer.occurrences.map((o) => [o.uid, o]));
  const changed = [...new Set([...state.document.keys(), ...theirs.keys()])].filter((uid) =>
    !same(state.document.get(uid), theirs.get(uid))
  );
  const steps = state.pending.filter((edit) => edit.kind === "undo" || edit.kind === "redo");
  const before = new Map(state.document);
  state.pending = state.pending.filter((edit) => !steps.includes(edit));
  const asked = changed.filter((uid) =>
    state.pending.some((edit) => touchedBy(edit).includes(uid))
  );
  Author.replaced(answer.occurrences, answer.revision);
  if (answer.can_undo !== undefined) {
    Object.assign(state, { canUndo: answer.can_undo, canRedo: answer.can_redo });
  }
  if (asked.length) {
    ask(
      asked.map((uid) => ({
        uid,
        before: before.get(uid),
        mine: mine.get(uid),
        theirs: theirs.get(uid),
      })),
    );
  } else {Author.emit(
      "notice",
      taken(changed.length) +
        (steps.length ? " Undo was skipped: the latest change is not yours." : ""),
    );}
  Author.rebuilt();
  return !asked.length;
}

function taken(count) {
  const updated = `${counted(count, "occurrence was", "occurrences were")} updated`;
  return `The timeline was changed in another window: ${updated}. Your changes are saved on top.`;
}

function ask(conflicts) {
  state.conflicts = conflicts;
  Author.emit("notice", "");
  list.replaceChildren(...conflicts.map(block));
  progress();
  if (!dialog.open) dialog.showModal();
}

function block(conflict) {
  const part = element("fieldset", "conflict");
  part.append(element("legend", "", (conflict.mine ?? conflict.before ?? conflict.theirs).mention));
  part.append(table(conflict));
  const choices = element("div", "conflict-choices");
  for (const [value, words] of [["mine", "Keep mine"], ["theirs", "Take theirs"]]) {
    const label = element("label", "choice");
    const input = Object.assign(element("input"), {
      type: "radio",
      name: `conflict-${conflict.uid}`,
      value,
    });
    input.addEventListener("change", () => {
      conflict.choice = value;
      progress();
    });
    label.append(input, words);
    choices.append(label);
  }
  part.append(choices);
  return part;
}

const shownValue = (occurrence, field) => {
  const value = field === "words" ? Author.momentWords(occurrence) : occurrence[field];
  return Array.isArray(value)
    ? value.join(", ") || "none"
    : value === null || value === ""
    ? "none"
    : String(value);
};

const heading = (words) => Object.assign(element("th", "", words), { scope: "row" });
function table({ mine, theirs }) {
  const made = element("table", "table table-compact conflict-table");
  const head = made.createTHead().insertRow();
  for (const words of ["Value", "Mine", "Theirs"]) {
    head.append(Object.assign(element("th", "", words), { scope: "col" }));
  }
  const body = made.createTBody();
  if (!mine || !theirs) {
    const row = body.insertRow();
    row.append(
      heading("State"),
      ...[mine, theirs].map((side) => element("td", "", side ? "changed" : "removed")),
    );
    return made;
  }
  for (const [field, words] of Object.entries(FIELDS)) {
    if (shownValue(mine, field) === shownValue(theirs, field)) continue;
    const row = body.insertRow();
    row.append(
      heading(words),
      ...[mine, theirs].map((side) => element("td", "wrap", shownValue(side, field))),
    );
  }
  return made;
}

function progress() {
  const left = state.conflicts.filter((conflict) => !conflict.choice).length;
  dialog.querySelector("[data-resolve]").disabled = left > 0;
  dialog.querySelector("[data-left]").textContent = left ? `${left} to decide` : "";
}

function resolve() {
  for (const conflict of state.conflicts) {
    if (conflict.choice === "theirs") {
      state.pending = state.pending.filter((edit) => !touchedBy(edit).includes(conflict.uid));
    } else if (!conflict.theirs) restored(conflict);
  }
  state.conflicts = null;
  dialog.close();
  Author.rebuilt();
  Author.emit("resolved");
}

// The occurrence was removed elsewhere and the person chose "mine": it is added again.
function restored({ uid, mine }) {
  state.pending = state.pending.filter((edit) => !touchedBy(edit).includes(uid));
  if (mine) Author.edit("add", { values: content(mine) });
}
function content(
  {
    start,
    end,
    mention,
    polarity,
    placed,
    time,
    lower,
    upper,
    known,
    context,
    rows,
    entered,
    reason,
    unread,
  },
) {
  const values = { start, end, mention, polarity, known, context, rows, reason };
  return unread
    ? { ...values, time_text: entered }
    : { ...values, placed, time, lower, upper, entered };
}

dialog.addEventListener("cancel", (event) => event.preventDefault());
dialog.querySelector("[data-resolve]").addEventListener("click", resolve);
