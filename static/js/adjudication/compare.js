// The aligned table and the panel beside the plot: rows follow the selection, the window and the
// search; the panel shows one row in full.
import { chosenOf, momentOf } from "../common/moment.js";
import { element } from "../common/dom.js";
import * as Case from "../case/state.js";

const pane = Case.find("[data-chain-pane]");
const holder = Case.find("[data-chain]");
const title = Case.find("[data-chain-title]");
const position = Case.find("[data-position]");
const announce = Case.find("[data-announce]");
const body = Case.find(".aligned tbody");
const scroller = Case.find(".aligned");
const rows = new Map([...body.rows].map((row) => [row.dataset.u, row]));
const empty = [...holder.childNodes];
const emptyTitle = [...title.childNodes];
const STATES = {
  differs: "different beyond tolerance",
  agrees: "within tolerance",
  "only-a": "only in A",
  "only-b": "only in B",
};
let shown = "";
let chosen = null;

const item = (row) => Case.items[Case.byUid.get(row.dataset.u)];
const wanted = (one) => (shown === "findings" ? Boolean(one.f) : !shown || one.s === shown);

function filter() {
  for (const row of rows.values()) {
    const one = item(row);
    const hit = !Case.state.hits || Case.state.hits.has(Case.byUid.get(one.u));
    row.hidden = !(wanted(one) && hit && Case.inWindow(one));
  }
  const left = [...rows.values()].filter((row) => !row.hidden).length;
  Case.find("[data-left]").textContent = left === rows.size
    ? `${rows.size} rows`
    : `${left} of ${rows.size} rows`;
}

// j and k skip rows that the filter hides.
Case.passOver((index) => rows.get(Case.items[index].u).hidden);

function side(name, one) {
  const box = element("div", "compared-side");
  const head = box.appendChild(element("p"));
  head.append(
    element("span", `side side-${name}`, name.toUpperCase()),
    ` ${Case.root.dataset[`name${name.toUpperCase()}`]}`,
  );
  if (!one) {
    box.append(element("p", "muted", "has no matching row"));
    return box;
  }
  box.append(element("p", "event", one.m));
  box.appendChild(element("p", "when")).append(momentOf(one.c, one.w));
  if (one.b) box.append(element("p", "muted", chosenOf(one.b)));
  const link = box.appendChild(element("a", "", "On the case page"));
  link.href = `${Case.root.dataset.page}?t=${Case.root.dataset[`t${name.toUpperCase()}`]}${
    one.o ? `&o=${one.o}` : ""
  }`;
  return box;
}

function finding(one) {
  const box = element("article", "reported");
  const head = box.appendChild(element("p"));
  head.append(element("b", "", one.kind), `: ${one.verdict}`);
  if (one.flag) head.append(element("span", "badge badge-plain", one.flag));
  box.append(
    element("p", "muted", `${one.charged || "no side is charged"} · based on ${one.grounding}`),
  );
  if (one.reason) box.append(element("p", "reason", one.reason));
  const link = box.appendChild(element("a", "", "See its evidence"));
  link.href = one.url;
  return box;
}

function showRow(one) {
  const words = one.dw && one.s !== "agrees" ? `B is ${one.dw}` : one.dw;
  const state = [STATES[one.s], one.dw && words].filter(Boolean).join(" · ");
  title.replaceChildren(element("h2", "", one.m), element("p", "chain-when muted", state));
  position.textContent = `${one.n} of ${Case.items.length}`;
  announce.textContent = `${one.m}, ${chosenOf(one.w)}, ${STATES[one.s]}`;
  const sides = element("div", "compared-sides");
  sides.append(side("a", one.a), side("b", one.b));
  const parts = [sides];
  if (one.q) {
    const quote = element("p", "sentence", one.q[0]);
    quote.append(element("mark", "", one.q[1]), one.q[2]);
    parts.push(element("h3", "", "In the note"), quote);
  }
  if (one.how) parts.push(element("p", "muted", `Paired by ${one.how}.`));
  if (one.f) {
    parts.push(
      element("h3", "", one.f.length === 1 ? "The judge’s finding" : "The judge’s findings"),
      ...one.f.map(finding),
    );
  } else if (Case.root.dataset.judged) {
    parts.push(element("p", "muted", "The judge reported no finding for this row."));
  }
  const box = element("div", "compared");
  box.append(...parts);
  holder.replaceChildren(box);
  holder.scrollTop = 0;
}

Case.on("select", (one, from) => {
  pane.classList.toggle("is-open", Boolean(one));
  chosen?.classList.remove("is-selected");
  chosen?.removeAttribute("aria-current");
  chosen = (one && rows.get(one.u)) || null;
  if (!one) {
    holder.replaceChildren(...empty);
    title.replaceChildren(...emptyTitle);
    position.textContent = "";
    return;
  }
  chosen.classList.add("is-selected");
  chosen.setAttribute("aria-current", "true");
  const box = chosen.getBoundingClientRect();
  const frame = scroller.getBoundingClientRect();
  if (box.top < frame.top + 40 || box.bottom > frame.bottom) {
    scroller.scrollTop += box.top - frame.top - frame.height * 0.35;
  }
  if (from === "keys" || from === "shift" || from === "table") {
    chosen.querySelector("button").focus({ preventScroll: true });
  }
  showRow(one);
});
Case.on("window", filter);
document.addEventListener("clockchange", () => {
  const one = Case.selectedItem();
  if (one) showRow(one);
});
Case.on("search", filter);

body.addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (row && getSelection().isCollapsed && !event.target.closest("a")) {
    Case.selectUid(row.dataset.u, "table");
  }
});
for (const button of Case.root.querySelectorAll("[data-show]")) {
  button.addEventListener("click", () => {
    shown = button.dataset.show;
    for (const other of Case.root.querySelectorAll("[data-show]")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
    filter();
  });
}
filter();
