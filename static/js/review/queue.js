// From item to item. The next item is fetched in advance, so that it is shown as soon as an answer
// is given.
import { answer, answerWords, dropDraft, hint, values } from "./answers.js";
import { end, parsed, show, wait } from "./item.js";
import { practise, stepPractice } from "./practice.js";
import * as Review from "./state.js";
import { answeredWords, endingOf, itemsInHand } from "./steps.js";
import { ask, connection, send } from "./sync.js";

const { state } = Review;
let ahead = null;
let asking = null;
let asked = 0;
let stepping = false;

// Returns {item} with the next item's element, {over} if there is none (with a message if the
// server sent one), or null if there was no answer.
async function fetchNext() {
  const besides = itemsInHand(Review.item()?.dataset.item, state.pending);
  const { status, data } = await ask(Review.urls.next, { besides });
  if (status !== 200) return data.message ? { over: true, message: data.message } : null;
  if (!state.pending.length) Review.progress(data.progress);
  return data.html ? { item: parsed(data.html) } : { over: true };
}

export async function prefetch() {
  if (Review.mode !== "review" || ahead || asking) return;
  const mine = (asked += 1);
  asking = fetchNext();
  const got = await asking;
  if (mine !== asked) return;
  asking = null;
  // An empty queue is not remembered: a skipped item may come again.
  ahead = got?.item ? got : null;
  Review.root.toggleAttribute("data-ahead", Boolean(ahead));
}
function forget() {
  asked += 1;
  ahead = null;
  asking = null;
  Review.root.removeAttribute("data-ahead");
}

// Shows the next item. If it is not fetched yet, waits for it, and requests it again when all steps
// are stored.
async function advance(message) {
  let ready = ahead;
  if (!ready) {
    wait(`${message} Waiting for the next item…`);
    Review.announce(message);
    stepping = true;
    ready = asking ? await asking : null;
    stepping = false;
  }
  forget();
  if (ready?.item) {
    show(ready.item, { message });
    prefetch();
  } else if (!state.pending.length) await load(message);
}

async function load(message = "") {
  if (Review.item() || stepping) return;
  stepping = true;
  const got = await fetchNext();
  stepping = false;
  if (got?.item) {
    show(got.item, { message });
    prefetch();
  } else if (got?.over) over(got);
}

function over({ message }) {
  const { title, words, link } = endingOf({ ...state, message });
  end(title, words, link);
}

export function commit() {
  const item = Review.item();
  if (!item || !answer()) {
    if (item) hint("Choose an answer first (its key is beside it).");
    return;
  }
  const body = values();
  if (!body) {
    Review.find("[name=own_time]").focus();
    return;
  }
  if (Review.mode === "practice") {
    practise(item, body);
    return;
  }
  dropDraft();
  Review.note("");
  const { url, item: id, expects } = item.dataset;
  const message = answeredWords(answerWords(), connection());
  if ("decided" in item.dataset) {
    // After a changed answer is stored, the page returns to the list.
    if ("sent" in item.dataset) return;
    item.dataset.sent = "";
    const refusedAgain = (data, status) => {
      delete item.dataset.sent;
      refused(data, status);
    };
    const back = () => location.assign(Review.root.dataset.back);
    send({
      url: `${url}decide/`,
      item: id,
      body: { ...body, expects },
      then: back,
      refused: refusedAgain,
    });
    return;
  }
  Review.progress({ done: state.done + 1 });
  send({ url: `${url}decide/`, item: id, body, then: stored, refused });
  advance(message);
}

function stored(data) {
  if (data.late) {
    Review.note(
      "Your answer was late: the item was assigned to another reviewer or the packet was closed. It is stored and marked late.",
    );
  }
}
function refused(data, status) {
  if (data.progress) Review.progress(data.progress);
  Review.note(data.message ?? "The server rejected the last step.");
  if (status === 423) end("This review is closed", data.message, "To the packet");
}

export function skip() {
  const item = Review.item();
  if (!item || stepping || "decided" in item.dataset) return;
  if (Review.mode === "practice") {
    stepPractice(`${item.dataset.url}skip/`, "There is no other case.");
    return;
  }
  dropDraft();
  const body = values() ?? {};
  send({ url: `${item.dataset.url}skip/`, item: item.dataset.item, body, refused });
  advance("Skipped. The item comes again at the end.");
}

export function flag() {
  const button = Review.find("[data-do=flag]");
  const item = Review.item();
  if (!button || !item) return;
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(on));
  item.toggleAttribute("data-flagged", on);
  Review.announce(on ? "Flagged." : "Flag removed.");
  send({ url: `${item.dataset.url}flag/`, body: { flagged: on }, refused });
}

// Undoes the last answer after all earlier steps are stored; its item is shown again with the
// answer.
export function undo() {
  if (Review.mode === "practice") {
    stepPractice(Review.urls.undo, "There is no answer to undo.");
    return;
  }
  if (Review.changing || stepping || state.done < 1) return;
  stepping = true;
  dropDraft();
  const then = (data) => {
    stepping = false;
    forget();
    if (data.html) show(parsed(data.html), { message: "Undone." });
    else Review.note("There is no answer to undo.");
    prefetch();
  };
  send({
    url: Review.urls.undo,
    body: {},
    then,
    refused: (data, status) => {
      stepping = false;
      refused(data, status);
    },
  });
}

Review.on("settled", () => !stepping && !Review.item() && load());
Review.on("back", () => (Review.item() ? prefetch() : load()));
