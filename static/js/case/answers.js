// Answering back in the inspector: correct a time, comment, flag. The server renders the forms.
import { element } from "../common/dom.js";
import { post } from "../common/server.js";
import * as Case from "./state.js";

const chain = Case.find("[data-chain]");
const SEARCH_AFTER = 250;
const READ_AFTER = 180;
const ENDED = "Your session has ended. Reload the page to sign in again.";
const LOST = "No connection. Nothing was saved; try again.";
const slot = () => chain.querySelector("[data-answers]");
// The action to open when the inspector has the selected occurrence.
let waiting = "";

function problem(words) {
  const box = slot()?.querySelector("[data-answer-problem]");
  if (!box) return;
  box.hidden = !words;
  box.textContent = words;
  if (words) box.scrollIntoView({ block: "nearest" });
}

// Sends an answer. A changed time opens the timeline that has it; anything else is shown in place.
async function send(address, body) {
  problem("");
  const { status, data } = await post(address, body);
  if (status !== 200) {
    problem(status === 401 ? ENDED : data.message ?? LOST);
    return;
  }
  const { uid } = slot().dataset;
  if (data.timeline) location.assign(`${Case.root.dataset.case}?t=${data.timeline}&o=${uid}`);
  else Case.emit("answered", uid);
}

function close(form) {
  form.hidden = true;
  if (form.dataset.answerForm === "correct") form.replaceChildren();
  else form.reset();
  slot().querySelector(`[data-answer="${form.dataset.answerForm}"]`).focus();
}

async function open(name) {
  const answers = slot();
  if (!answers) return;
  problem("");
  for (const other of answers.querySelectorAll("[data-answer-form]")) {
    other.hidden = other.dataset.answerForm !== name;
  }
  const holder = answers.querySelector(`[data-answer-form="${name}"]`);
  if (name === "correct") {
    if (!await fetchForm(holder, answers.querySelector('[data-answer="correct"]').dataset.form)) {
      return;
    }
    const rows = holder.querySelector("[data-take]");
    (rows.querySelector("[data-row]") ? rows : holder.querySelector('[name="entered"]')).focus();
  } else {
    delete holder.dataset.parent;
    holder.querySelector("textarea, input").focus();
  }
  holder.scrollIntoView({ block: "nearest" });
}

async function fetchForm(holder, address) {
  const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!answer?.ok || answer.redirected) {
    holder.hidden = true;
    problem(answer?.redirected ? ENDED : "The form could not be loaded. Try again.");
    return false;
  }
  // The server's template escapes every value.
  holder.innerHTML = await answer.text();
  return true;
}

// The form that corrects.

function take(button) {
  const form = button.closest("form");
  const taken = button.getAttribute("aria-pressed") !== "true";
  for (const row of form.querySelectorAll("[data-row]")) {
    row.setAttribute("aria-pressed", String(row === button && taken));
  }
  form.elements.kind.value = "time";
  if (!form.elements.entered.value.trim()) {
    say(form, taken ? `${button.dataset.when}, from the record` : "");
  }
  form.querySelector('[type="submit"]').focus();
}

function say(form, words, isWrong = false) {
  const box = form.querySelector("[data-correct-read]");
  box.textContent = words;
  box.classList.toggle("field-error", isWrong);
}

let timer = null;
let asked = 0;
function later(wait, work) {
  clearTimeout(timer);
  timer = setTimeout(() => work(asked += 1), wait);
}

async function read(form, mine) {
  const text = form.elements.entered.value.trim();
  if (!text) return say(form, "");
  const { status, data } = await post(form.dataset.read, { text });
  if (mine !== asked) return undefined;
  if (status === 200) return say(form, [data.words, data.bounds].filter(Boolean).join(" · "));
  return say(form, status === 422 ? data.message : LOST, true);
}

async function find(form, mine) {
  const text = form.elements.search.value.trim();
  if (!text) return;
  const near = form.dataset.near === undefined ? null : Number(form.dataset.near);
  const { status, data } = await post(form.dataset.search, { text, near });
  if (mine !== asked) return;
  if (status !== 200) {
    say(form, data.message ?? LOST, true);
    return;
  }
  const list = form.querySelector("[data-take]");
  list.replaceChildren(...data.rows.map(line));
  if (!data.rows.length) list.append(element("li", "muted", "No row has these words."));
  say(form, `${data.rows.length}${data.more ? " or more" : ""} rows, nearest first`);
}

function line(row, index) {
  const item = element("li");
  const button = item.appendChild(element("button", "take-row"));
  button.type = "button";
  button.dataset.row = row.row_index;
  button.dataset.when = row.when;
  button.setAttribute("aria-pressed", "false");
  if (index < 9) button.append(element("kbd", "", String(index + 1)), " ");
  button.append(
    element("b", "", row.when),
    element("span", "", [row.words, row.value_words].filter(Boolean).join(", ")),
    element("span", "muted", row.kind),
  );
  return item;
}

function correction(form) {
  const { entered, reason, known, kind } = form.elements;
  const rows = [...form.querySelectorAll('[aria-pressed="true"]')];
  return {
    kind: kind.value,
    entered: entered.value,
    reason: reason.value,
    known: known.checked,
    rows: kind.value === "not_happened" ? [] : rows.map((row) => Number(row.dataset.row)),
  };
}

// Mentions: the people whose names begin with the letters after @.

function typedName(field) {
  return /@([\w.@+-]*)$/.exec(field.value.slice(0, field.selectionStart))?.[1];
}

function offerPeople(field) {
  const typed = typedName(field)?.toLowerCase();
  const box = field.form.querySelector("[data-people]");
  box.hidden = typed === undefined;
  for (const person of box.children) {
    person.hidden = !person.dataset.person.toLowerCase().startsWith(typed ?? "");
  }
}

function mention(person) {
  const field = person.closest("form").elements.body;
  const at = field.selectionStart - typedName(field).length;
  field.setRangeText(`${person.dataset.person} `, at, field.selectionStart, "end");
  person.parentElement.hidden = true;
  field.focus();
}

// Listeners.

for (const name of ["correct", "comment", "flag"]) {
  Case.root.addEventListener(`case:${name}`, ({ detail }) => {
    if (slot()?.dataset.uid === detail.item.u) open(name);
    else waiting = name;
  });
}
Case.on("chain", () => {
  if (waiting) open(waiting);
  waiting = "";
});
Case.on("select", () => (waiting = ""));

chain.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!slot() || !button?.closest("[data-answers], [data-sources]")) return;
  const { answer, send: address, other, settle, reply, row, person } = button.dataset;
  const { timeline } = slot().dataset;
  if (answer) open(answer);
  else if (address) send(address, other ? { timeline, other } : { timeline });
  else if (row !== undefined) take(button);
  else if (person) mention(button);
  else if (settle !== undefined) {
    const form = slot().querySelector("[data-settle-form]");
    send(form.action, { timeline, correction: settle, reason: form.elements.reason.value });
  } else if (reply) {
    open("comment");
    slot().querySelector('[data-answer-form="comment"]').dataset.parent = reply;
  } else if ("close" in button.dataset) close(button.closest("[data-answer-form]"));
});

chain.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  const { timeline } = slot().dataset;
  if ("settleForm" in form.dataset) return;
  const given = form.matches(".correct-form")
    ? correction(form)
    : Object.fromEntries(new FormData(form));
  if (form.dataset.parent) given.parent = form.dataset.parent;
  send(form.action, { ...given, timeline });
});

chain.addEventListener("input", ({ target }) => {
  if (target.name === "entered") later(READ_AFTER, (mine) => read(target.form, mine));
  else if (target.name === "search") later(SEARCH_AFTER, (mine) => find(target.form, mine));
  else if (target.name === "body") offerPeople(target);
});

const TYPED = "textarea, select, input:not([type=radio]):not([type=checkbox])";
chain.addEventListener("keydown", (event) => {
  const form = event.target.closest("[data-answer-form]");
  if (!form || event.ctrlKey || event.metaKey || event.altKey) {
    if (form && event.key === "Enter" && event.target.name === "body") form.requestSubmit();
    return;
  }
  if (event.key === "Escape") {
    close(form);
  } else if (event.key === "Tab" && event.target.name === "body" && typedName(event.target)) {
    const person = form.querySelector("[data-person]:not([hidden])");
    if (!person || person.parentElement.hidden) return;
    mention(person);
  } else if (event.key === "Enter" && event.target.name === "search") {
    form.querySelector("[data-row]")?.focus();
  } else if (/^[1-9]$/.test(event.key) && !event.target.matches(TYPED)) {
    const row = form.querySelectorAll("[data-row]")[Number(event.key) - 1];
    if (row) take(row);
  } else return;
  event.preventDefault();
  event.stopPropagation();
});
