// Shows an item: replaces it as a whole and scrolls the note to the marked text.
import { element } from "../common/dom.js";
import * as Review from "./state.js";

const stage = Review.find("[data-stage]");

export function parsed(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  return document.adoptNode(page.body.firstElementChild);
}

export function show(item, { message = "" } = {}) {
  stage.replaceChildren(item);
  ready(message);
}

export function ready(message) {
  const item = Review.item();
  if (!item) return;
  const flag = Review.find("[data-do=flag]");
  flag?.setAttribute("aria-pressed", String("flagged" in item.dataset));
  const title = Review.changing ? "An answer to change" : `Item ${Review.position()}`;
  item.querySelector("[data-item-title]").textContent = title;
  toPlace();
  item.focus({ preventScroll: true });
  const question = item.querySelector(".question").textContent;
  Review.announce([message, `${title}.`, question].filter(Boolean).join(" "));
  Review.emit("item", item);
}

// Scrolls the marked text to a third of the pane's height without moving the page.
export function toPlace() {
  const note = Review.find("[data-note]");
  const place = note?.querySelector("mark.place");
  if (place) within(note, place, 0.3);
}
function within(pane, element, share) {
  pane.scrollTop += element.getBoundingClientRect().top - pane.getBoundingClientRect().top -
    pane.clientHeight * share;
}

// Replaces the item by a message: the packet is complete, or no item can be shown.
export function end(title, words, link) {
  const made = element("section", "stage-end");
  const head = element("h2", "", title);
  head.tabIndex = -1;
  made.append(head, element("p", "", words));
  if (link) {
    made.append(
      Object.assign(element("a", "button button-primary", link), { href: Review.urls.packet }),
    );
  }
  stage.replaceChildren(made);
  head.focus();
  Review.emit("item", null);
}
export function wait(words) {
  stage.replaceChildren(element("p", "stage-wait", words));
  Review.emit("item", null);
}
