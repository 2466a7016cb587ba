import { simulate } from "./simulate.ts";

simulate(0, 2);
