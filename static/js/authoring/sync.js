// Saving: sends edits one after the other, each with its token, until the server has answered.
// After a lost connection the same token is sent again, and the server stores the edit once. Queued
// edits stay in this page's memory until they are saved.
import { pauseAfter } from "../common/retry.js";
import { post, renew } from "../common/server.js";
import { resolveConflict } from "./conflict.js";
import * as Author from "./state.js";

const { state } = Author;
// The edit itself is invalid: a retry would be rejected too.
const REFUSED = new Set([400, 413, 415, 422]);
let busy = false;
let failures = 0;
let timer = null;
export const connection = { kind: "saved", message: "" };

function show(kind, message = "") {
  Object.assign(connection, { kind, message });
  Author.emit("connection", connection);
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(run, pauseAfter(failures) * 1000);
  failures += 1;
  show("lost");
}

async function refused() {
  const outcome = await renew(location.pathname);
  if (outcome === "renewed" && connection.kind !== "refused") {
    show("refused");
    return true;
  }
  if (outcome === "signed-out") show("signed-out");
  else if (outcome === "lost") later();
  else {
    show(
      "stopped",
      "You cannot open this timeline with this session. Sign in as its author in another tab, then try again.",
    );
  }
  return false;
}

function body(edit) {
  const { kind, token, uid, uids, values, parts } = edit;
  return { token, revision: state.revision, kind, uid, uids, values, parts };
}

function answered(edit, status, answer) {
  if (status === 200) {
    failures = 0;
    Author.saved(answer);
    return true;
  }
  if (status === 409) {
    const goesOn = resolveConflict(answer);
    if (!goesOn) show("conflict");
    return goesOn;
  }
  if (REFUSED.has(status)) {
    const about = Author.currentView().get(edit.uid ?? edit.made);
    state.pending.shift();
    Author.rebuilt();
    Author.emit("rejected", edit, answer, about);
    return true;
  }
  if (status === 423) {
    show("locked", "This timeline was submitted in another window. Reload the page to see it.");
    return false;
  }
  if (status === 401) show("signed-out");
  else if (status === 403 || status === 404) return refused();
  else later();
  return false;
}

async function run() {
  if (busy || !state.pending.length || state.conflicts) return;
  busy = true;
  clearTimeout(timer);
  let going = true;
  while (going && state.pending.length) {
    const [edit] = state.pending;
    edit.tried = true;
    if (connection.kind === "saved" || connection.kind === "conflict") show("saving");
    const { status, data } = await post(Author.data.urls.edits, body(edit));
    going = await answered(edit, status, data);
  }
  busy = false;
  if (!state.pending.length) show("saved");
}

// Retries at once, after the person has signed in elsewhere or asked for it.
export async function again() {
  failures = 0;
  if (connection.kind === "signed-out" || connection.kind === "stopped") {
    const outcome = await renew(location.pathname);
    if (outcome !== "renewed") {
      return show(outcome === "signed-out" ? "signed-out" : connection.kind, connection.message);
    }
    show("saving");
  }
  return run();
}

// A value that is being typed or parsed is not saved yet either.
let unsettled = 0;
export function working(change) {
  unsettled += change;
  Author.emit("connection", connection);
}
export const settled = () => !state.pending.length && !state.deferred.length && !unsettled;

Author.on("queued", run);
Author.on("resolved", () => (state.pending.length ? run() : again()));
window.addEventListener("online", again);
window.addEventListener("focus", () => connection.kind === "signed-out" && again());
window.addEventListener("beforeunload", (event) => {
  Author.emit("flush");
  if (!settled()) event.preventDefault();
});
