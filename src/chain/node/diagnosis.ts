import { AppError } from "../../kernel/errors.ts";

/** The problem that a node's message reports. */
export type DiagnosisKind =
  | "mismatched_state_root"
  | "interrupted_import"
  | "invalid_forkchoice_state"
  | "missing_validator_state"
  | "engine_refuses_secret"
  | "engine_unreachable";

/** The meaning of a message and what to do (SPEC 7). Values that the message does not contain are undefined. */
export type Diagnosis = {
  readonly kind: DiagnosisKind;
  readonly cause: string;
  /** The next steps, in order. */
  readonly next: readonly string[];
  /** Actions that make it worse. */
  readonly never: readonly string[];
  /** The block that the message names, and the database's head block. */
  readonly blockNumber: bigint | undefined;
  readonly parentBlockNumber: bigint | undefined;
  /** The height to trim the export from again. */
  readonly retrimFrom: bigint | undefined;
  readonly stateRoots: { readonly got: string; readonly expected: string } | undefined;
};

type Facts = Partial<Pick<Diagnosis, "blockNumber" | "parentBlockNumber" | "retrimFrom" | "stateRoots">>;

const MAX_MESSAGE = 16_384;

/**
 * Diagnoses a message of a node: one or more lines of its log. Undefined for an unknown message. Throws
 * `invalid_parameter` for a message longer than 16,384 characters. Pure.
 */
export function diagnose(message: string): Diagnosis | undefined {
  if (message.length > MAX_MESSAGE)
    throw new AppError("invalid_parameter", `A message may have at most ${MAX_MESSAGE} characters.`, {
      param: "message",
    });
  const text = message.replace(/\s+/g, " ");
  for (const read of [
    readStateRoot,
    readInterruptedImport,
    readForkchoice,
    readValidatorState,
    readSecret,
    readEngine,
  ]) {
    const found = read(text);
    if (found) return found;
  }
  return undefined;
}

function readStateRoot(text: string): Diagnosis | undefined {
  if (!/mismatched block state root/i.test(text)) return undefined;
  const roots = /got:? (0x[0-9a-f]{64}),? expected:? (0x[0-9a-f]{64})/i.exec(text);
  const [, got, expected] = roots ?? [];
  const number = /\b(?:block(?:_| )?(?:number)?|number|bad_block)["']?\s?[=:# ]\s?["']?(\d{1,18})\b/i.exec(
    text,
  )?.[1];
  return toDiagnosis("mismatched_state_root", {
    cause: "Executing the block produced a different state root than the exported chain has.",
    next: [
      "Stop the import and keep the database and its log as they are.",
      number === undefined
        ? "Find the block's number in the lines before this one."
        : `Report block ${number} with both state roots and the versions of both clients.`,
      "Run the old client with its backed-up data meanwhile.",
    ],
    never: ["Do not skip the block manually: every later block would build on a wrong state."],
    ...(number !== undefined && { blockNumber: BigInt(number) }),
    ...(got !== undefined && expected !== undefined && { stateRoots: { got, expected } }),
  });
}

function readInterruptedImport(text: string): Diagnosis | undefined {
  const numbers = /block number (\d{1,18}) does not match parent block number (\d{1,18})/i.exec(text);
  if (!numbers?.[1] || !numbers[2]) return undefined;
  const parentBlockNumber = BigInt(numbers[2]);
  const retrimFrom = parentBlockNumber + 1n;
  return toDiagnosis("interrupted_import", {
    cause: `An import was interrupted and restarted. The database rolled back to block ${parentBlockNumber}, and an import cannot resume by itself.`,
    next: [
      `Trim the export again, so that it starts with block ${retrimFrom}: npm run node:doctor -- --trim ${retrimFrom} {export} {trimmed export}.`,
      "Import the trimmed file.",
      "Check that the height grows from there.",
    ],
    never: ["Do not delete the database: the blocks already imported are valid."],
    blockNumber: BigInt(numbers[1]),
    parentBlockNumber,
    retrimFrom,
  });
}

function readForkchoice(text: string): Diagnosis | undefined {
  if (!/-38002\b|invalid forkchoice state/i.test(text)) return undefined;
  return toDiagnosis("invalid_forkchoice_state", {
    cause: "The consensus client was started while the execution client is still syncing.",
    next: [
      "Stop the consensus client.",
      "Wait until eth_syncing is false and eth_blockNumber is within a few blocks of a public RPC.",
      "Start the consensus client again.",
    ],
    never: ["Do not initialise the node again: that overwrites its state."],
  });
}

function readValidatorState(text: string): Diagnosis | undefined {
  if (!/priv_validator_state\.json/i.test(text)) return undefined;
  return toDiagnosis("missing_validator_state", {
    cause: "The consensus client does not find data/priv_validator_state.json in its home.",
    next: [
      "Check that this key has never signed elsewhere; if it has, copy that machine's file once its process is fully stopped.",
      "Otherwise create the file with an empty JSON object: {}.",
      "Start the consensus client again.",
    ],
    never: [
      "Do not run the same validator key on two machines: the validator is slashed for double signing.",
    ],
  });
}

function readSecret(text: string): Diagnosis | undefined {
  const isRefusal =
    /\bjwt\b/i.test(text) &&
    /(401|403|unauthori[sz]ed|invalid|expired|signature|missing|mismatch|stale|forbidden)/i.test(text);
  if (!isRefusal) return undefined;
  return toDiagnosis("engine_refuses_secret", {
    cause:
      "The engine API rejects the consensus client's secret: the two clients have different files, or their clocks differ.",
    next: [
      "Give both clients the same JWT secret file.",
      "Check that the clocks of both machines agree within 60 s.",
      "Restart the execution client, then the consensus client.",
    ],
    never: ["Do not open the engine API without a secret."],
  });
}

function readEngine(text: string): Diagnosis | undefined {
  const isRefused = /connection refused|econnrefused|connect error/i.test(text);
  if (!isRefused || !/:8551\b|engine/i.test(text)) return undefined;
  return toDiagnosis("engine_unreachable", {
    cause: "The consensus client was started before the execution client listened on the engine API.",
    next: [
      "Stop the consensus client.",
      "Start the execution client, and check that port 8551 listens.",
      "Start the consensus client again.",
    ],
    never: ["Do not initialise the node again: that overwrites its state."],
  });
}

function toDiagnosis(
  kind: DiagnosisKind,
  found: Pick<Diagnosis, "cause" | "next" | "never"> & Facts,
): Diagnosis {
  return {
    blockNumber: undefined,
    parentBlockNumber: undefined,
    retrimFrom: undefined,
    stateRoots: undefined,
    kind,
    ...found,
  };
}
