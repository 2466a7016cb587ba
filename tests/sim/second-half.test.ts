import { simulate } from "./simulate.ts";

simulate(1, 2);
