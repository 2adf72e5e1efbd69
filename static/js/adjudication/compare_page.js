// Two timelines of a case side by side: the case page's plot with the marks of both, and the
// aligned table.
import "../case/overview.js";
import "./plot.js";
import "./compare.js";
import { start } from "../case/keys.js";
import { find, remembered } from "../case/state.js";
import { splitPanes } from "../common/panes.js";

splitPanes(find("[data-panes]"), remembered);
start();
