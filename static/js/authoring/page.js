// The page for writing a timeline: the note, the list, and the form of one occurrence.
import "./note.js";
import "./words.js";
import "./list.js";
import "./strip.js";
import "./when.js";
import "./context.js";
import "./evidence.js";
import "./keys.js";
import { splitPanes } from "../common/panes.js";
import { find, remembered, root } from "./state.js";

splitPanes(find("[data-panes]"), remembered);
root.dataset.ready = "true";
