// The Record tab: the series of the stay, fetched when it opens first. It can show one row, and
// the search of the page looks here too.
import { postWords } from "../common/server.js";
import { searchRecordBy } from "./search.js";
import * as Case from "./state.js";
import { openTab, showTab } from "./tabs.js";

const panel = Case.find("[data-record]");
const address = panel.dataset.record;
let loaded = false;
// Only the latest request may show its list: an earlier one can be answered later.
let asked = 0;

async function fetchRecord(query = "") {
  loaded = true;
  const mine = (asked += 1);
  const list = panel.querySelector("#series-list");
  list.setAttribute("aria-busy", "true");
  const answer = await fetch(address + query, { headers: { "HX-Request": "true" } }).catch(() =>
    null
  );
  if (mine !== asked) return;
  if (!answer?.ok || answer.redirected) {
    loaded = false;
    list.textContent = "The record could not be loaded. Open the tab again to retry.";
    return;
  }
  const html = await answer.text();
  if (mine === asked) show(html);
}

// The partial comes from the server's templates, which escape every value. Its count has a place of
// its own, outside the list.
function show(html) {
  const made = document.createElement("template");
  made.innerHTML = html;
  const count = made.content.querySelector("#series-count");
  if (count) panel.querySelector("#series-count").textContent = count.textContent.trim();
  const list = made.content.querySelector("#series-list");
  if (!list) return;
  panel.querySelector("#series-list").replaceWith(list);
  htmx.process(list);
}

export async function showRow(index) {
  loaded = true;
  showTab("record");
  await fetchRecord(`?row=${index}`);
  const row = panel.querySelector("tr[aria-current]");
  row?.scrollIntoView({ block: "center" });
  row?.focus({ preventScroll: true });
}

// Returns the number of series that have the words, null if there is no answer.
export async function searchRecord(words) {
  panel.querySelector("#series-text").value = words;
  if (!words) {
    loaded = false;
    if (openTab()?.dataset.tab === "record") fetchRecord();
    return null;
  }
  const mine = (asked += 1);
  const html = await (await postWords(address, words))?.text();
  if (html === undefined || mine !== asked) return null;
  loaded = true;
  show(html);
  return Number(panel.querySelector("#series-list").dataset.count);
}
searchRecordBy(searchRecord);

Case.on("tab", (name) => {
  if (name === "record" && !loaded) fetchRecord();
});
