// The page on which a reviewer decides one item after the other.
import { start } from "./keys.js";

start();
