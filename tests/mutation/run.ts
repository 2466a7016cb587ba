import { MODULES } from "./modules.ts";
import { type Mutant, mutate } from "./stryker.ts";
import { readAccepted, show, survivorsOf, without } from "./survivors.ts";

/** The least share of mutants, in percent, that the tests of a module have to detect. */
const MIN_SCORE = 85;

/**
 * Mutation testing: `npm run test:mutation` for all modules, `npm run test:mutation -- pricing merkle` for some. Fails
 * when a module is below the least score, or when a mutant survives that `survivors.md` does not list.
 */
async function main(names: readonly string[]): Promise<void> {
  const unknown = names.find((name) => !(name in MODULES));
  if (unknown !== undefined)
    throw new Error(`no module ${unknown}; there are ${Object.keys(MODULES).join(", ")}`);
  const chosen = Object.entries(MODULES).filter(([name]) => names.length === 0 || names.includes(name));
  const files = chosen.flatMap(([, list]) => [...list]);
  const accepted = readAccepted().filter(({ file }) => (files as string[]).includes(file));
  const mutants: Mutant[] = [];
  // One by one: the time limit of a mutant grows with the time of all tests of its run.
  for (const [, list] of chosen) mutants.push(...(await mutate(list)));
  const isOf = (list: readonly string[]) => (mutant: Mutant) =>
    list.some((file) => mutant.fileName.endsWith(file));
  const scores = [
    ...chosen.map(([name, list]) => scoreOf(name, mutants.filter(isOf(list)))),
    scoreOf("all", mutants),
  ];
  console.table(Object.fromEntries(scores.map(({ name, ...score }) => [name, score])));
  const found = survivorsOf(mutants);
  const unlisted = without(found, accepted);
  const gone = without(accepted, found);
  for (const survivor of unlisted) console.log(`survives, and is not listed: ${show(survivor)}`);
  for (const survivor of gone) console.log(`is listed, and does not survive: ${show(survivor)}`);
  console.log(
    `${found.length} mutants survive, ${unlisted.length} of them are not in tests/mutation/survivors.md`,
  );
  if (unlisted.length > 0 || scores.some(({ score }) => score < MIN_SCORE)) process.exitCode = 1;
}

/** A mutant that ends in a timeout is detected; one that cannot be loaded is not counted. */
function scoreOf(name: string, mutants: readonly Mutant[]) {
  const count = (...statuses: readonly string[]) =>
    mutants.filter(({ status }) => statuses.includes(status)).length;
  const detected = count("Killed", "Timeout");
  const survived = count("Survived", "NoCoverage");
  const score = Math.round((1_000 * detected) / Math.max(1, detected + survived)) / 10;
  return { name, score, mutants: detected + survived, detected, survived };
}

await main(process.argv.slice(2));
