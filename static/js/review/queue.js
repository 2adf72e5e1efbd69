// From item to item. The one after is fetched while this one is read, so that saving an answer
// shows it at once.
import { answer, dropDraft, hint, values } from "./answers.js";
import { end, parsed, show, wait } from "./item.js";
import { practise } from "./practice.js";
import * as Review from "./state.js";
import { ask, connection, send } from "./sync.js";

const { state } = Review;
const WORDS = {
  A: "A",
  B: "B",
  BOTH: "both",
  NEITHER: "neither",
  UNCLEAR: "unclear",
  NOT_A_FINDING: "not a finding",
};
let ahead = null;
let asking = null;
let asked = 0;
let stepping = false;

// Items that this page has in hand: the one on screen, and those whose answer is on its way.
function inHand() {
  const here = Review.item()?.dataset.item;
  return [...new Set([here, ...state.pending.map((step) => step.item)].filter(Boolean))];
}

// {item} with the next item's element, {over} (with a message where it says why) where there is
// none, null where the server could not be asked.
async function fetchNext() {
  const { status, data } = await ask(Review.urls.next, { besides: inHand() });
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
  // That nothing is left now is not kept: a skipped item may come again.
  ahead = got?.item ? got : null;
  Review.root.toggleAttribute("data-ahead", Boolean(ahead));
}
function forget() {
  asked += 1;
  ahead = null;
  asking = null;
  Review.root.removeAttribute("data-ahead");
}

// To the item after. Where it has not come yet, it is waited for, and asked for again once what is
// under way is stored.
async function advance(said) {
  let ready = ahead;
  if (!ready) {
    wait(`${said} Waiting for the next item…`);
    Review.announce(said);
    stepping = true;
    ready = asking ? await asking : null;
    stepping = false;
  }
  forget();
  if (ready?.item) {
    show(ready.item, { said });
    prefetch();
  } else if (!state.pending.length) await load(said);
}

async function load(said = "") {
  if (Review.item() || stepping) return;
  stepping = true;
  const got = await fetchNext();
  stepping = false;
  if (got?.item) {
    show(got.item, { said });
    prefetch();
  } else if (got?.over) over(got);
}

function over({ message }) {
  if (message) end("This review is not open now", message, "To the packet");
  else if (state.done >= state.total) {
    end(
      "All items are decided",
      "What is left is a last question and your signature. Until you sign, every answer can be changed.",
      "To the last steps",
    );
  } else {
    end(
      "Nothing is left for you now",
      "Other reviewers hold the remaining items. They may come back to you later.",
      "To the packet",
    );
  }
}

export function commit() {
  const item = Review.item();
  if (!item || !answer()) {
    if (item) hint("Choose an answer first, 1 to 6.");
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
  // Where the page knows that it reaches nobody, it does not speak of saving.
  const said = `${["saved", "saving"].includes(connection()) ? "Saved" : "Kept"} ${
    WORDS[body.answer]
  }.`;
  if ("decided" in item.dataset) {
    // A changed answer leads back to the list, once it is stored and the list can show it.
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
  advance(said);
}

function stored(data) {
  if (data.late) {
    Review.note(
      "That answer came late: somebody else had the item by then, or the packet was closed. It is kept beside the others and marked late.",
    );
  }
}
function refused(data, status) {
  if (data.progress) Review.progress(data.progress);
  Review.note(data.message ?? "That step was refused.");
  if (status === 423) end("This review is not open now", data.message, "To the packet");
}

export function skip() {
  const item = Review.item();
  if (!item || stepping || Review.mode !== "review" || "decided" in item.dataset) return;
  dropDraft();
  const body = values() ?? {};
  send({ url: `${item.dataset.url}skip/`, item: item.dataset.item, body, refused });
  advance("Skipped; it comes again at the end.");
}

export function flag() {
  const button = Review.find("[data-do=flag]");
  const item = Review.item();
  if (!button || !item) return;
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(on));
  item.toggleAttribute("data-flagged", on);
  Review.announce(on ? "Flagged." : "Flag taken away.");
  send({ url: `${item.dataset.url}flag/`, body: { flagged: on }, refused });
}

// The answer before is taken back once everything before it is stored; its item comes again with
// what was chosen.
export function undo() {
  if (Review.mode !== "review" || Review.changing || stepping || state.done < 1) return;
  stepping = true;
  dropDraft();
  const then = (data) => {
    stepping = false;
    forget();
    if (data.html) show(parsed(data.html), { said: "Taken back." });
    else Review.note("There is nothing to take back.");
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
