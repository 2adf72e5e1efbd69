// The time of the selected occurrence: typed as a clinician says it, and read by the server while
// it is being typed.
import { hoursAsTyped } from "../shared/hours.js";
import { drop, fill, form, isWaiting, keep } from "./form.js";
import * as Author from "./state.js";
import { post, working } from "./sync.js";
import { backToNote } from "./words.js";

const { state } = Author;
const { when, lower, upper, known } = form.elements;
const read = Author.find("[data-when-read]");
const boundsRead = Author.find("[data-bounds-read]");
const READ_AFTER = 180;
const kept = new Map();
// {uid, text} of each text that was committed and is still being read; a later one of the same
// occurrence outdates it.
const unread = new Set();
let editing = null;
let asked = 0;
let timer = null;

const whenText = (o) => {
  if (!o.placed) return "";
  return o.entered || (o.time === null ? "N/A" : hoursAsTyped(o.time));
};

// {status, data} of a reading; a text that was read once, or is being read, is not asked for again.
function reading(text) {
  if (!kept.has(text)) kept.set(text, asking(text));
  return kept.get(text);
}
async function asking(text) {
  working(1);
  const answer = await post(Author.data.urls.time, { text });
  working(-1);
  if (answer.status !== 200 && answer.status !== 422) kept.delete(text);
  return answer;
}

function say(words, kind) {
  read.textContent = words;
  read.className = `when-read is-${kind}`;
}

const inWords = (found) =>
  [found.time === null ? "N/A" : found.words, found.bounds].filter(Boolean).join(" · ");

// A text that is being read, or that is no time, stays in the field.
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
  return say("It is read once the connection is back.", "waiting");
}

// Saved when it can be read, or when nobody can say yet; a text that is no time stays in the field
// with the reason below it.
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
  // Whether the note states it is its author's to say; the words decide it only where they say
  // "about".
  const { known: said, ...rest } = data;
  Author.change(uid, { time_text: text }, {
    ...rest,
    ...(said === null ? {} : { known: said }),
    unread: false,
  });
  Author.announce(`Placed: ${inWords(data)}`);
}

// What is still being read goes out as it was typed, before an edit that must come after it; the
// server reads it then.
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
  if (!o.placed) return said(field, "Say first when it was.");
  const { status, data } = await reading(text);
  if (status !== 200) {
    return said(field, status === 422 ? data.message : "A bound needs the connection to be read.");
  }
  const hours = data[name] ?? data.time;
  if (o.time !== null && (name === "lower" ? hours > o.time : hours < o.time)) {
    return said(field, "The bounds do not hold the time between them.");
  }
  said(null, "");
  return Author.change(Author.current(o.uid), { [name]: hours });
}

function said(field, words) {
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
  // A person who has gone on to another occurrence or text stays there.
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
  said(null, "");
});
Author.on("adopting", () => {
  drop(when);
  outdate(state.selected);
  editing = null;
});
Author.on("reshaping", hurry);
