// The case page: note, plot, table and provenance of one timeline.
import "./note.js";
import "./overview.js";
import "./plot.js";
import "./table.js";
import "./chain.js";
import { start } from "./keys.js";
import { find, remembered } from "./state.js";
import { splitPanes } from "../common/panes.js";

splitPanes(find("[data-panes]"), remembered);
start();
