#!/usr/bin/env node
import { parseArgs } from "node:util";
import type { Command, Invocation } from "./cli/command.ts";
import { exitCodeOf, messageOf, UsageError } from "./cli/exit.ts";
import { createOutput, printable } from "./cli/output.ts";
import { readSettings } from "./cli/settings.ts";

const USAGE = `zerograph: a zerograph gateway from the command line.

  zerograph start                     run the product of this folder, with a development network
  zerograph status                    whether the gateway can serve
  zerograph doctor                    checks what a client needs: versions, connections, keys
  zerograph chat <question>           a streamed answer, and its cost        [--model <id>]
  zerograph keys list                 the account's sk- keys
  zerograph keys create <name>        creates one, and prints its secret
  zerograph keys revoke <id>
  zerograph webhooks list             the account's webhooks
  zerograph webhooks create <url> <event>...   creates one, and prints its secret
                                               [--name <name>] [--threshold <neuron> for balance.low]
  zerograph webhooks test <id>        delivers a test event; also: enable, disable, delete, rotate
  zerograph webhooks replay <id> <cursor>   delivers again what followed a cursor
  zerograph jobs watch <id>           follows an image job to its end        [--out <folder> for the images]
  zerograph files get <root>          downloads a file                       [--out <file>]
  zerograph files put <file>          submits a file of 1 byte to 256 MiB to the chain and uploads it
  zerograph verify <bundle.json>      verifies a receipt offline             [zerograph verify --help]

Options of every command: --url <address>, --json (results as JSON on standard output), --help.

Settings come from the environment: ZEROGRAPH_URL (else the gateway that runs in this folder, else
http://127.0.0.1:4000), ZEROGRAPH_KEY (an sk- key), ZEROGRAPH_MANAGEMENT_KEY (an mk- key) and
ZEROGRAPH_WALLET_KEY (the private key that pays for files). In a folder with a running development network its
keys are used.

Exit status: 0 done; 1 refused or failed; 2 wrong usage; 3 the gateway cannot be reached.`;

type OwnOption = Exclude<keyof Invocation["options"], undefined>;
type Loader = {
  readonly load: () => Promise<{ readonly command: Command }>;
  /** The options that only some commands have. */
  readonly options?: readonly OwnOption[];
};

/** Each command is loaded when it runs: most need no more than `fetch`. */
const COMMANDS: Readonly<Record<string, Loader>> = {
  start: { load: () => import("./cli/start.ts") },
  status: { load: () => import("./cli/status.ts") },
  doctor: { load: () => import("./cli/doctor.ts") },
  chat: { load: () => import("./cli/chat.ts"), options: ["model"] },
  keys: { load: () => import("./cli/keys.ts") },
  webhooks: { load: () => import("./cli/webhooks.ts"), options: ["name", "threshold"] },
  jobs: { load: () => import("./cli/jobs.ts"), options: ["out"] },
  files: { load: () => import("./cli/files.ts"), options: ["out"] },
};
const OWN_OPTIONS: readonly OwnOption[] = ["model", "out", "name", "threshold"];
const MIN_NODE = 22;

process.exitCode = await main(process.argv.slice(2));

async function main([name = "", ...words]: readonly string[]): Promise<number> {
  if (["", "help", "--help", "-h"].includes(name)) {
    (name === "" ? console.error : console.log)(USAGE);
    return name === "" ? 2 : 0;
  }
  if (name === "verify") return verify(words);
  const end = words.indexOf("--");
  const isJson = (end < 0 ? words : words.slice(0, end)).includes("--json");
  try {
    const { node } = process.versions;
    if (Number.parseInt(node, 10) < MIN_NODE)
      throw new UsageError(`Node ${node} is too old: install ${MIN_NODE}.`);
    const known = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!known) throw new UsageError(`There is no command ${name}. Run: zerograph help`);
    const { values, positionals } = parse(words);
    if (values.help) {
      console.log(USAGE);
      return 0;
    }
    for (const option of OWN_OPTIONS)
      if (values[option] !== undefined && !known.options?.includes(option))
        throw new UsageError(`${name} has no option --${option}. Run: zerograph help`);
      else if (values[option] === "") throw new UsageError(`--${option} has no value.`);
    const { command } = await known.load();
    return await command({
      words: positionals,
      options: values,
      settings: readSettings(values.url),
      isJson,
      ...createOutput(isJson),
    });
  } catch (error) {
    const message = messageOf(error);
    console.error(isJson ? JSON.stringify({ error: message }) : printable(message.message, process.stderr));
    return exitCodeOf(error);
  }
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        url: { type: "string" },
        model: { type: "string" },
        out: { type: "string" },
        name: { type: "string" },
        threshold: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** The command of `packages/verify` reads its own arguments, and sets the exit status itself. */
async function verify(words: readonly string[]): Promise<number> {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...words);
  await import("../../verify/src/cli.ts");
  return Number(process.exitCode ?? 0);
}
