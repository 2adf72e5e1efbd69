// Saving: sends steps one after the other, each with its token, until the server has answered.
// After a lost connection the same token is sent again, and the server stores the step once.
import { pauseAfter } from "../common/retry.js";
import { post, renew } from "../common/server.js";
import { token } from "../common/token.js";
import * as Review from "./state.js";
import { outcomeOf, waitingWords } from "./steps.js";

const { state } = Review;
const saved = Review.find("[data-saved]");
const banner = Review.find("[data-banner]");
let busy = false;
let failures = 0;
let timer = null;
let kind = "saved";
let renewed = false;

const WORDS = {
  lost: () =>
    `No connection. ${waiting()} in this page and sent when you are connected again. Keep the page open.`,
  "signed-out": () =>
    `You were signed out. ${waiting()} in this page. Sign in as ${Review.person} in a new tab, then come back here.`,
  stopped: () =>
    "You cannot open this review with this session. Sign in as its reviewer in another tab, then try again.",
};
const waiting = () => waitingWords(state.pending.length);

// Show a banner only if the person must know or do something.
function show(now) {
  kind = now;
  const words = WORDS[kind]?.() ?? "";
  const place = banner.querySelector("[data-banner-words]");
  if (place.textContent !== words) place.textContent = words;
  banner.hidden = !words;
  banner.querySelector("[data-banner-sign-in]").hidden = kind !== "signed-out";
  banner.querySelector("[data-do=retry]").textContent = kind === "signed-out"
    ? "I have signed in"
    : "Try now";
  saved.textContent = state.pending.length ? (words ? "Not saved" : "Saving…") : "All saved";
  saved.classList.toggle("is-unsaved", state.pending.length > 0 && Boolean(words));
}

// `keepalive` sends the last draft even if the page is being closed.
const give = (url, body) => post(url, body, { keepalive: true });

function later() {
  clearTimeout(timer);
  timer = setTimeout(onward, pauseAfter(failures) * 1000);
  failures += 1;
  show("lost");
}

// If all steps are saved, the page repeats its last request.
const onward = () => (state.pending.length ? run() : Review.emit("back"));

// The CSRF token is of an earlier session: fetches a new one once and sends the step again.
async function refused() {
  const outcome = renewed ? "stopped" : await renew(Review.urls.packet);
  renewed = outcome === "renewed";
  if (outcome === "lost") later();
  else if (!renewed) show(outcome);
  return renewed;
}

async function sent(step) {
  const answer = await give(step.url, { token: step.token, ...step.body });
  const { status, data } = answer;
  const outcome = outcomeOf(answer);
  if (outcome === "stored") {
    failures = 0;
    renewed = false;
    state.pending.shift();
    if (data.progress && !state.pending.length) Review.progress(data.progress);
    step.then?.(data);
    return true;
  }
  if (outcome === "rejected") {
    state.pending.shift();
    step.refused?.(data, status);
    return true;
  }
  if (outcome === "expired") return refused();
  if (outcome === "signed-out") show("signed-out");
  else later();
  return false;
}

async function run() {
  if (busy || !state.pending.length) return;
  busy = true;
  clearTimeout(timer);
  if (kind === "saved") show("saving");
  let going = true;
  while (going && state.pending.length) going = await sent(state.pending[0]);
  busy = false;
  if (!state.pending.length) {
    show("saved");
    Review.emit("settled");
  }
}

// Queues a step: {url, body, then(data), refused(data, status)}. Creates its token, once.
export function send(step) {
  state.pending.push({ token: token(), ...step });
  run();
}

// Retries at once, after the person has signed in elsewhere or asked for it.
export async function again() {
  failures = 0;
  if (kind === "signed-out" || kind === "stopped") {
    const outcome = await renew(Review.urls.packet);
    if (outcome !== "renewed") return show(outcome);
  }
  show(state.pending.length ? "saving" : "saved");
  await run();
  Review.emit("back");
  return undefined;
}

// A request outside the queue. Its failure is shown as the connection's state only, because the
// queue will fail in the same way.
export async function ask(url, body) {
  const answer = await give(url, body);
  if (answer.status === 401) show("signed-out");
  else if (
    answer.status === 403 && !answer.isJson && !renewed &&
    (await renew(Review.urls.packet)) === "renewed"
  ) {
    return give(url, body);
  } else if (answer.status === 0 || answer.status >= 500) later();
  else if (kind === "lost" && !state.pending.length) {
    failures = 0;
    show("saved");
  }
  return answer;
}

window.addEventListener("online", again);
window.addEventListener("focus", () => kind === "signed-out" && again());
window.addEventListener("beforeunload", (event) => {
  Review.emit("flush");
  if (state.pending.length) event.preventDefault();
});
export const connection = () => kind;
show("saved");
