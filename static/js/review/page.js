// The page for deciding the items of a packet, one after the other.
import { start } from "./keys.js";

start();
