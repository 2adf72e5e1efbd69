// The report card of a judge: the plot of its uphold rates.
import { drawFigures } from "../evaluation/figures.js";
import { uphold } from "./uphold.js";

drawFigures({ uphold });
