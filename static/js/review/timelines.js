// Both whole timelines, on request only: the server records that they were opened.
import { element } from "../common/dom.js";
import * as Review from "./state.js";
import { ask } from "./sync.js";

const dialog = document.getElementById("review-timelines");
const body = dialog?.querySelector("[data-timelines]");

export async function openTimelines() {
  const item = Review.item();
  if (!item || Review.mode !== "review") return;
  body.replaceChildren(element("p", "muted", "Loading both timelines…"));
  dialog.showModal();
  const { status, data } = await ask(`${item.dataset.url}timelines/`, {});
  if (status !== 200) {
    const words = data.message ?? "The timelines could not be loaded. Close this and try again.";
    body.replaceChildren(element("p", "muted", words));
    return;
  }
  const page = new DOMParser().parseFromString(data.html, "text/html");
  body.replaceChildren(...[...page.body.childNodes].map((node) => document.adoptNode(node)));
}
