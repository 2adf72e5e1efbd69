// The dashboard of a judge run: its plots.
import { drawFigures } from "../evaluation/figures.js";
import { costs, ratings } from "./ratings.js";

drawFigures({ costs, ratings });
