// The context of the selected occurrence: at most five others that help to date it.
import { element } from "../common/dom.js";
import { form } from "./form.js";
import * as Author from "./state.js";

const list = Author.find("[data-context]");
const choice = form.elements.context;
const MOST = 5;

function chip(uid) {
  const other = Author.currentView().get(uid);
  const made = element("li", "chip");
  const open = element("button", "link", other ? other.mention : "removed");
  open.type = "button";
  open.addEventListener("click", () => Author.select(uid, "context"));
  made.append(open);
  if (other?.placed) made.append(element("span", "muted", Author.momentWords(other)));
  if (!Author.state.locked) {
    const away = element("button", "chip-away", "×");
    away.type = "button";
    away.setAttribute("aria-label", `Remove ${other?.mention ?? "it"} from the context`);
    away.addEventListener("click", () => {
      const o = Author.selected();
      Author.change(o.uid, { context: o.context.filter((one) => one !== uid) });
      choice.focus();
    });
    made.append(away);
  }
  return made;
}

function draw(o) {
  list.replaceChildren(...o.context.map(chip));
  list.hidden = !o.context.length && !Author.state.locked;
  if (Author.state.locked && !o.context.length) list.append(element("li", "none", "none"));
  choice.hidden = Author.state.locked;
  choice.disabled = o.context.length >= MOST;
  if (document.activeElement === choice && choice.value) return;
  const others = Author.inNote().filter((x) =>
    x.uid !== o.uid && !o.context.includes(x.uid) && !x.uid.startsWith("new-")
  );
  const options = others.map((x) =>
    Object.assign(element("option", "", `${x.mention} · ${Author.momentWords(x)}`), {
      value: x.uid,
    })
  );
  choice.replaceChildren(
    Object.assign(
      element("option", "", o.context.length >= MOST ? "Five are chosen" : "Add an occurrence…"),
      { value: "" },
    ),
    ...options,
  );
}

// With the keyboard a select changes with every arrow, so its value is added on Enter or on
// leaving the field; with the mouse it is added at once.
function take() {
  const o = Author.selected();
  const uid = choice.value;
  if (!o || !uid) return;
  choice.value = "";
  Author.change(o.uid, { context: [...o.context, uid] });
  Author.announce("Added to the context");
}
let byKey = false;
choice.addEventListener("pointerdown", () => (byKey = false));
choice.addEventListener("keydown", (event) => {
  byKey = event.key !== "Enter";
  if (event.key === "Enter" && choice.value) {
    event.preventDefault();
    take();
  }
});
choice.addEventListener("change", () => !byKey && take());
choice.addEventListener("blur", take);
Author.on("form", draw);
