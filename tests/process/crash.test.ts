import { test } from "vitest";
import { killOnce } from "../crash/kill.ts";
import { type Point, planOf } from "../crash/points.ts";
import { type CrashDatabase, useCrashWorlds } from "./crash-worlds.ts";

/** The other points are in `crash-points.test.ts`, and every point with many seeds is `npm run test:crash`. */
const KILLS: readonly (readonly [CrashDatabase, Point])[] = [
  ["PGlite", "the provider has the request"],
  ["PostgreSQL", "inside the settlement"],
];
const SEED = 4;
const worlds = useCrashWorlds();

test.concurrent.for(KILLS)(
  "a process killed on %s, at the point '%s', bills each acknowledged answer once and keeps no hold",
  async ([name, point], { skip, expect }) => {
    const { faults } = await killOnce(worlds().of(name, skip), planOf(point, SEED));
    expect(faults).toEqual([]);
  },
);
