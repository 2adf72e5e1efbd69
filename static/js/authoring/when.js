// The time of the selected occurrence: typed in a clinician's words, and parsed by the server
// during typing.
import { hoursAsTyped } from "../common/hours.js";
import { post } from "../common/server.js";
import { drop, fill, form, isWaiting, keep } from "./form.js";
import * as Author from "./state.js";
import { working } from "./sync.js";
import { backToNote } from "./words.js";

const { state } = Author;
const { when, lower, upper, known } = form.elements;
const read = Author.find("[data-when-read]");
const boundsRead = Author.find("[data-bounds-read]");
const READ_AFTER = 180;
const readings = new Map();
// {uid, text} of each committed text that is still being parsed; a later one of the same occurrence
// replaces it.
const unread = new Set();
let editing = null;
let asked = 0;
let timer = null;

const whenText = (o) => {
  if (!o.placed) return "";
  return o.entered || (o.time === null ? "N/A" : hoursAsTyped(o.time));
};

// Returns {status, data} of a parsed text; each text is requested once.
function reading(text) {
  if (!readings.has(text)) readings.set(text, asking(text));
  return readings.get(text);
}
async function asking(text) {
  working(1);
  const answer = await post(Author.data.urls.time, { text });
  working(-1);
  if (answer.status !== 200 && answer.status !== 422) readings.delete(text);
  return answer;
}

function say(words, kind) {
  read.textContent = words;
  read.className = `when-read is-${kind}`;
}

const inWords = (answer) =>
  [answer.time === null ? "N/A" : answer.words, answer.bounds].filter(Boolean).join(" · ");

// A text that is being parsed, or is no valid time, stays in the field.
const isEditing = (o) => editing !== null && Author.current(editing) === o.uid;

function settled(o) {
  if (isWaiting(when) || isEditing(o)) return;
  if (o.unread) say(Author.momentWords(o), "waiting");
  else if (!o.placed) say("Not placed yet", "todo");
  else say(inWords(o) || "N/A", "read");
}

async function live() {
  const text = when.value.trim();
  const mine = (asked += 1);
  if (!text) return say("Not placed yet", "todo");
  const { status, data } = await reading(text);
  if (mine !== asked) return undefined;
  if (status === 200) return say(inWords(data), "read");
  if (status === 422) return say(data.message, "wrong");
  return say("No connection. The time is checked when you are connected again.", "waiting");
}

// Saves a text that is a valid time, or that cannot be checked without a connection. An invalid
// text stays in the field with the reason below it.
async function commit() {
  const o = Author.selected();
  const text = when.value.trim();
  editing = null;
  if (!o) return;
  outdate(o.uid);
  if (text === whenText(o)) return;
  if (!text) {
    return Author.change(o.uid, { time_text: "" }, {
      placed: false,
      time: null,
      lower: null,
      upper: null,
      entered: "",
      unread: false,
    });
  }
  editing = o.uid;
  const mine = { uid: o.uid, text };
  unread.add(mine);
  const { status, data } = await reading(text);
  const uid = Author.current(o.uid);
  if (!unread.delete(mine)) return;
  if (status === 422) {
    if (state.selected === uid) wrong(data.message);
    return;
  }
  if (isEditing({ uid })) editing = null;
  asked += 1;
  if (status !== 200) return Author.change(uid, { time_text: text });
  // The author decides whether the note states the time. The words decide only if they contain
  // "about".
  const { known, ...rest } = data;
  Author.change(uid, { time_text: text }, {
    ...rest,
    ...(known === null ? {} : { known }),
    unread: false,
  });
  Author.announce(`Placed: ${inWords(data)}`);
}

// Sends texts that are still being parsed as typed, before an edit that must follow them. The
// server parses them then.
function hurry() {
  for (const { uid, text } of unread) {
    const now = Author.current(uid);
    if (isEditing({ uid: now })) editing = null;
    Author.change(now, { time_text: text });
  }
  unread.clear();
}
function outdate(uid) {
  for (const one of unread) if (Author.current(one.uid) === uid) unread.delete(one);
}

function wrong(message) {
  say(message, "wrong");
  when.setAttribute("aria-invalid", "true");
}

async function bound(field, name) {
  const o = Author.selected();
  const text = field.value.trim();
  if (!o || text === hoursAsTyped(o[name])) return;
  if (!text) return Author.change(o.uid, { [name]: null });
  if (!o.placed) return showBoundsMessage(field, "Enter the time first.");
  const { status, data } = await reading(text);
  if (status !== 200) {
    return showBoundsMessage(
      field,
      status === 422 ? data.message : "No connection: the bound cannot be checked.",
    );
  }
  const hours = data[name] ?? data.time;
  if (o.time !== null && (name === "lower" ? hours > o.time : hours < o.time)) {
    return showBoundsMessage(field, "The time is outside these bounds.");
  }
  showBoundsMessage(null, "");
  return Author.change(Author.current(o.uid), { [name]: hours });
}

function showBoundsMessage(field, words) {
  boundsRead.textContent = words;
  boundsRead.classList.toggle("field-error", Boolean(field));
  if (field) field.setAttribute("aria-invalid", "true");
  else for (const one of [lower, upper]) one.removeAttribute("aria-invalid");
}

export function place(text) {
  drop(when);
  when.value = text;
  commit();
}

keep(when, commit);
keep(lower, () => bound(lower, "lower"));
keep(upper, () => bound(upper, "upper"));
when.addEventListener("input", () => {
  when.removeAttribute("aria-invalid");
  clearTimeout(timer);
  timer = setTimeout(live, READ_AFTER);
});
when.addEventListener("keydown", async (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  clearTimeout(timer);
  drop(when);
  const { selected } = state;
  const text = when.value;
  await commit();
  // The person may have moved to another occurrence or text: stay there.
  const stayed = Author.current(selected) === state.selected &&
    (when.value === text || when.value === whenText(Author.selected()));
  if (stayed && !when.hasAttribute("aria-invalid") && document.activeElement === when) backToNote();
});
known.addEventListener("change", () => Author.change(state.selected, { known: known.checked }));
Author.on("form", (o) => {
  if (!isEditing(o)) {
    fill(when, whenText(o));
    when.removeAttribute("aria-invalid");
  }
  fill(lower, hoursAsTyped(o.lower));
  fill(upper, hoursAsTyped(o.upper));
  known.checked = o.known;
  known.disabled = !o.placed || o.time === null;
  lower.disabled = upper.disabled = !o.placed;
  settled(o);
});
Author.on("select", () => {
  editing = null;
  showBoundsMessage(null, "");
});
Author.on("adopting", () => {
  drop(when);
  outdate(state.selected);
  editing = null;
});
Author.on("reshaping", hurry);
