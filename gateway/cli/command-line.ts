import { StartupError } from "../../src/kernel/errors.ts";

/** What a command takes. */
type Usage<Flag extends string> = {
  /** How it is called, for people. */
  readonly usage: string;
  /** Its flags, with their dashes. */
  readonly flags?: readonly Flag[];
  /** The number of its other arguments. Default: 0. */
  readonly words?: number;
};

/**
 * Reads the arguments of a command before it does anything: what it does must not follow from a misspelled `--dry-run`.
 * Prints the usage and exits for `--help`. Throws a `StartupError` for anything that the command does not take, and for
 * its flags that npm took for itself (`npm run retention --dry-run`).
 */
export function readCommandLine<Flag extends string = never>({
  usage,
  flags = [],
  words = 0,
}: Usage<Flag>): {
  readonly flags: ReadonlySet<Flag>;
  readonly words: readonly string[];
} {
  const { argv, env } = process;
  const given = argv.slice(2);
  if (given.some((word) => word === "--help" || word === "-h")) {
    console.log(usage);
    process.exit(0);
  }
  const isFlag = (word: string): word is Flag => (flags as readonly string[]).includes(word);
  const others = given.filter((word) => !isFlag(word));
  const unknown = others.find((word) => word.startsWith("-")) ?? others[words];
  if (unknown !== undefined)
    throw new StartupError(`${unknown} is not an argument of this command: ${usage}`);
  if (others.length < words) throw new StartupError(`An argument is missing: ${usage}`);
  const takenByNpm = flags.find((flag) => {
    const value = env[`npm_config_${flag.slice(2).replaceAll("-", "_")}`];
    return !given.includes(flag) && value !== undefined && value !== "false" && value !== "";
  });
  if (takenByNpm !== undefined)
    throw new StartupError(`npm took ${takenByNpm} for itself: write -- before it: ${usage}`);
  return { flags: new Set(given.filter(isFlag)), words: others };
}
