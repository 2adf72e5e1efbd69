// The case page: note, ribbon, tabs and inspector of one timeline.
import "./note.js";
import "./notes.js";
import "./minimap.js";
import "./ribbon.js";
import "./overview.js";
import "./lanes/panel.js";
import "./table.js";
import "./record.js";
import "./story.js";
import "./chain.js";
import "./answers.js";
import "./as_of.js";
import "./menus.js";
import "./panes.js";
import "./palette.js";
import "./print.js";
import "./sheet.js";
import { start } from "./keys.js";
import { startTabs } from "./tabs.js";
import { find, remembered } from "./state.js";
import { splitPanes } from "../common/panes.js";
import "../disclose.js";

splitPanes(find("[data-panes]"), remembered, { note: 40, plot: 60 });
startTabs();
start();
