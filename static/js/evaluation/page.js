// The page of an evaluation: its plots and the filter of its table.
import "./filter.js";
import { drawFigures } from "./figures.js";
import { PLOTS } from "./plots.js";

drawFigures(PLOTS);
