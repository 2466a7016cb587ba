import { expect, test } from "vitest";
import { Sightings } from "../../../src/kernel/sightings.ts";

const KEYS = Array.from({ length: 100_000 }, (_, n) => `query Page${n} { viewer { kind } }`);

test("a key is seen when it comes again soon, and of new keys hardly one is taken for a seen one", () => {
  const sightings = new Sightings();
  const taken = KEYS.filter((key) => sightings.see(key));
  expect(taken.length).toBeLessThan(5);
  expect(KEYS.slice(-100).filter((key) => !sightings.see(key)).length).toBeLessThan(5);
});
