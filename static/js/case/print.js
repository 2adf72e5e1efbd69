// Before printing, everything that the paper shows is there: the table has all its rows.
import { actions } from "./keys.js";
import * as Case from "./state.js";

actions.print = () => print();
addEventListener("beforeprint", () => Case.emit("print"));
