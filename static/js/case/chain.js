// The provenance panel: shows the known values at once and fetches the chain.
import { element } from "../common/dom.js";
import { chosenOf, writeSaid } from "../common/moment.js";
import { showInNote } from "./note.js";
import { showRow } from "./record.js";
import * as Case from "./state.js";

const pane = Case.find("[data-chain-pane]");
const holder = Case.find("[data-chain]");
const title = Case.find("[data-chain-title]");
const position = Case.find("[data-position]");
const announce = Case.find("[data-announce]");
const empty = [...holder.childNodes];
const emptyTitle = [...title.childNodes];
const KEPT = 40;
const DWELL_MS = 60;
// Chains that were fetched or requested, by UID; the oldest are removed.
const chains = new Map();
let wanted = "";

function head(item) {
  const line = element("p", "chain-when");
  line.append(element("span", `status status-${item.s}`, Case.momentWords(item)));
  const notes = [
    item.s === "unplaced" ? "" : Case.statusWords[item.s],
    item.sw && item.tw !== item.w ? `${item.sw} · text ${chosenOf(item.tw)}` : "",
    item.rw && `reference ${chosenOf(item.rw)}`,
    Case.noteWords(item),
  ];
  line.append(element("span", "muted", notes.filter(Boolean).map((note) => ` · ${note}`).join("")));
  title.replaceChildren(element("h2", "", item.m), line);
  position.textContent = `${Case.state.selected + 1} of ${Case.items.length}`;
  announce.textContent = `${item.m}, ${Case.momentWords(item)}, ${Case.statusWords[item.s]}`;
}

async function ask(uid) {
  const address = `${Case.root.dataset.case}o/${uid}/chain/?t=${Case.root.dataset.timeline}`;
  const answer = await fetch(address, { headers: { "HX-Request": "true" } });
  if (answer.redirected || answer.status === 403) throw new Error("signed out");
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.text();
}

function chain(uid) {
  if (!chains.has(uid)) {
    const coming = ask(uid);
    coming.catch(() => chains.delete(uid));
    chains.set(uid, coming);
    if (chains.size > KEPT) chains.delete(chains.keys().next().value);
  }
  return chains.get(uid);
}

async function load(item) {
  wanted = item.u;
  if (item.u.startsWith("row-")) {
    holder.replaceChildren(
      element(
        "p",
        "chain-empty",
        "This source has no inventory of occurrences, so no chain is stored for its events.",
      ),
    );
    return;
  }
  holder.setAttribute("aria-busy", "true");
  try {
    const text = await chain(item.u);
    if (wanted !== item.u) return;
    // The partial comes from the server's template, which escapes every value; the content security
    // policy blocks scripts in it.
    holder.innerHTML = text;
    writeSaid(holder);
    holder.scrollTop = 0;
    holder.dataset.shown = item.u;
    unfold();
    Case.emit("chain", item);
  } catch (error) {
    if (wanted !== item.u) return;
    const words = error.message === "signed out"
      ? "Your session has ended. Reload the page to sign in again."
      : "The chain could not be loaded. Select the occurrence again to retry.";
    holder.replaceChildren(element("p", "message message-error", words));
  }
  holder.removeAttribute("aria-busy");
}

// Whether the steps are open is remembered.
function unfold() {
  const how = holder.querySelector("[data-how]");
  if (!how) return;
  how.open = Case.remembered.get("how", false);
  how.addEventListener("toggle", () => Case.remembered.set("how", how.open));
}

Case.on("select", (item) => {
  pane.classList.toggle("is-open", Boolean(item));
  for (const link of Case.root.querySelectorAll("[data-timeline-link]")) {
    const address = new URL(link.href);
    const uid = link.hasAttribute("data-reference") ? item?.ru : item?.u;
    if (uid) address.searchParams.set("o", uid);
    else address.searchParams.delete("o");
    link.href = address;
  }
  if (item) {
    head(item);
    load(item);
    return;
  }
  wanted = "";
  holder.replaceChildren(...empty);
  title.replaceChildren(...emptyTitle);
  position.textContent = "";
});

document.addEventListener("clockchange", () => {
  const item = Case.selectedItem();
  if (item) head(item);
});

// Pointing at an occurrence for a moment fetches its chain, so that a click shows it at once.
let dwell = 0;
Case.on("hover", (item) => {
  clearTimeout(dwell);
  if (item && !item.u.startsWith("row-")) {
    dwell = setTimeout(() => chain(item.u).catch(() => {}), DWELL_MS);
  }
});

// The rows of a candidate series are fetched when its line is opened, and shown below it.
async function rows(button) {
  const line = button.closest("tr");
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  if (open) {
    line.nextElementSibling.remove();
    return;
  }
  const below = element("tr", "series-rows");
  const cell = below.appendChild(element("td"));
  const box = cell.appendChild(element("div", "series-rows-box", "Loading rows…"));
  cell.colSpan = line.cells.length;
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "Rows of the series");
  line.after(below);
  const answer = await fetch(button.dataset.rows, { headers: { "HX-Request": "true" } }).catch(() =>
    null
  );
  // This too comes from the server's template.
  if (answer?.ok && !answer.redirected) box.innerHTML = await answer.text();
  else box.textContent = "The rows could not be loaded. Close and open them again to retry.";
  htmx.process(box);
}

holder.addEventListener("click", (event) => {
  const series = event.target.closest("[data-rows]");
  if (series) rows(series);
  const context = event.target.closest("[data-select]");
  if (context) Case.selectUid(context.dataset.select, "chain");
  const chip = event.target.closest("[data-jump]");
  if (chip) {
    event.preventDefault();
    if (chip.dataset.jump === "note") showInNote(Case.selectedItem());
    else showRow(chip.dataset.row);
    return;
  }
  const link = event.target.closest('a[href^="#"]');
  const target = link && document.getElementById(link.getAttribute("href").slice(1));
  if (!target) return;
  event.preventDefault();
  target.scrollIntoView({ block: "start" });
  target.focus({ preventScroll: true });
});

// An answer to an occurrence changed its panel.
Case.on("answered", (uid) => {
  chains.delete(uid);
  const item = Case.selectedItem();
  if (item?.u === uid) load(item);
});
