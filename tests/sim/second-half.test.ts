// @module-tag large
import { simulate } from "./simulate.ts";

simulate(1, 2);
