// The saving state, notices, the history dialog and the submit dialog.
import { element } from "../common/dom.js";
import { post } from "../common/server.js";
import { counted } from "../common/words.js";
import { resolveConflict } from "./conflict.js";
import { canRedo, canUndo } from "./edits.js";
import { form } from "./form.js";
import * as Author from "./state.js";
import { connection, settled } from "./sync.js";

const { state } = Author;
const saved = Author.find("[data-saved]");
const banner = Author.find("[data-banner]");
const bannerWords = Author.find("[data-banner-words]");
const signIn = Author.find("[data-banner-sign-in]");
const notice = Author.find("[data-notice]");
const submitDialog = document.getElementById("author-submit");
const historyDialog = document.getElementById("author-history");
const submitNow = submitDialog.querySelector("[data-submit-now]");
const submitProblem = submitDialog.querySelector("[data-submit-problem]");

function waitingWords() {
  return `Not saved: ${counted(state.pending.length, "change", "changes")}`;
}
const WORDS = {
  lost: () => `${waitingWords()}. Trying again. Keep this page open.`,
  "signed-out": () =>
    `You were signed out. ${waitingWords()} in this page. Sign in as ${Author.root.dataset.person} in a new tab, then come back here.`,
  stopped: () => `${waitingWords()}. ${connection.message}`,
  locked: () => connection.message,
};

// Show a banner only if the person must know or do something.
function showConnection() {
  const { kind } = connection;
  const words = WORDS[kind]?.() ?? "";
  if (bannerWords.textContent !== words) bannerWords.textContent = words;
  banner.hidden = !words;
  signIn.hidden = kind !== "signed-out";
  Author.find("[data-do=retry]").textContent = kind === "signed-out"
    ? "I have signed in"
    : "Try now";
  if (state.locked) saved.textContent = "";
  else if (settled()) saved.textContent = "All saved";
  else saved.textContent = words || kind === "conflict" ? "Not saved" : "Saving…";
  saved.classList.toggle("is-unsaved", !settled());
  if (submitDialog.open) ready();
  steps();
}

function steps() {
  const set = (name, can) => Author.find(`[data-do=${name}]`)?.toggleAttribute("disabled", !can);
  set("undo", canUndo(state));
  set("redo", canRedo(state));
}

function note(words, kind = "info") {
  notice.hidden = !words;
  notice.className = `author-notice message-${kind}`;
  notice.querySelector("[data-notice-words]").textContent = words;
}

const DONE = { undo: "Undone", redo: "Done again", split: "Split", merge: "Merged" };
Author.on("done", (kind) => Author.announce(DONE[kind]));

// Fetches the list from the history page and shows it in a dialog.
export async function showHistory() {
  const box = historyDialog.querySelector("[data-history]");
  box.replaceChildren(element("p", "muted", "Loading…"));
  historyDialog.showModal();
  try {
    const response = await fetch(Author.data.urls.history, { redirect: "manual" });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    box.replaceChildren(document.adoptNode(page.getElementById("history-list")));
  } catch {
    box.replaceChildren(element("p", "", "No connection: the history cannot be loaded."));
  }
}

function open(uid) {
  submitDialog.close();
  Author.select(uid, "submit");
  form.elements.when.focus();
}

// Lists the occurrences that are not placed yet, each with a link to it.
export function submit() {
  Author.emit("flush");
  const all = Author.inNote();
  const todo = all.filter((o) => !o.placed);
  const words = submitDialog.querySelector("[data-submit-words]");
  const many = `${counted(todo.length, "occurrence is", "occurrences are")} not placed yet`;
  words.textContent = all.length
    ? `${many}. Enter a time, or N/A if no time can be given.`
    : "No occurrence is marked yet.";
  submitDialog.querySelector("[data-submit-todo]").hidden = all.length > 0 && !todo.length;
  submitDialog.querySelector("[data-submit-list]").replaceChildren(...todo.map((o) => {
    const made = element("li");
    const go = element("button", "link", o.mention);
    go.type = "button";
    go.addEventListener("click", () => open(o.uid));
    made.append(go);
    return made;
  }));
  submitDialog.querySelector("[data-submit-ready]").hidden = !all.length || todo.length > 0;
  submitProblem.hidden = true;
  ready();
  if (!submitDialog.open) submitDialog.showModal();
}

function ready() {
  const all = [...Author.currentView().values()];
  submitNow.disabled = !all.length || all.some((o) => !o.placed) || !settled();
  submitNow.textContent = settled() ? "Submit and lock" : "Saving first…";
}

async function send() {
  submitNow.disabled = true;
  const { status, data } = await post(Author.data.urls.submit, { revision: state.revision });
  if (status === 200) return location.reload();
  if (status === 409) resolveConflict(data);
  const signedOut = "You were signed out. Sign in again in another tab, then try again.";
  submitProblem.textContent = data.message ??
    (status === 401
      ? signedOut
      : "No connection. It is not known whether the timeline was submitted. Try again.");
  submitProblem.hidden = false;
  ready();
  return undefined;
}

submitNow.addEventListener("click", send);
Author.on("connection", showConnection);
Author.on("document", showConnection);
Author.on("notice", note);
export const dismissNotice = () => note("");
showConnection();
