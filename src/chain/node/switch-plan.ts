import { AppError } from "../../kernel/errors.ts";
import type { ExecutionClientName } from "./execution.client.ts";

/** What a check looks at. */
export type CheckKind =
  | "file_exists"
  | "files_equal"
  | "process_stopped"
  | "port_listens"
  | "port_silent"
  | "rpc_result"
  | "heights_near"
  | "log_says";

/** How to know that a step is done: `subject` has to be as `expected`. */
export type StepCheck = { readonly kind: CheckKind; readonly subject: string; readonly expected: string };

/** A step of a procedure. In commands, what stands in braces is the operator's. */
export type SwitchStep = {
  readonly order: number;
  /** A short name that stays the same. */
  readonly id: string;
  readonly title: string;
  readonly why: string;
  /** Undefined where it depends on how the node is run. */
  readonly command: string | undefined;
  /** All must hold before the next step. */
  readonly checks: readonly StepCheck[];
  /** Whether data are lost by it that only a backup has. */
  readonly isDestructive: boolean;
};

/** How to switch from one execution client to the other, and back again (SPEC 4.5). */
export type SwitchPlan = {
  readonly from: ExecutionClientName;
  readonly to: ExecutionClientName;
  readonly notes: readonly string[];
  readonly steps: readonly SwitchStep[];
  /** From any step on. */
  readonly rollback: readonly SwitchStep[];
};

const EXPORT_FILE = "{work}/chain.rlp";
const TRIMMED_FILE = "{work}/chain-from-1.rlp";

const COMMANDS = {
  geth: {
    export: `geth --datadir {old_data} export ${EXPORT_FILE} 1 {head}`,
    initialise: "geth --datadir {new_data} init {genesis.json}",
    import: `geth --datadir {new_data} import ${TRIMMED_FILE}`,
  },
  reth: {
    // reth exports other formats than RLP.
    export: undefined,
    initialise: "reth init --datadir {new_data} --chain {genesis.json}",
    import: `reth import --datadir {new_data} --chain {genesis.json} ${TRIMMED_FILE}`,
  },
} as const;

const SILENT_CONSENSUS = {
  kind: "port_silent",
  subject: "127.0.0.1:26657",
  expected: "refuses connections",
} as const;
const SILENT_ENGINE = {
  kind: "port_silent",
  subject: "127.0.0.1:8551",
  expected: "refuses connections",
} as const;
const SILENT_RPC = {
  kind: "port_silent",
  subject: "127.0.0.1:8545",
  expected: "refuses connections",
} as const;
const ENGINE_LISTENS = {
  kind: "port_listens",
  subject: "127.0.0.1:8551",
  expected: "accepts connections",
} as const;
const SYNCED = {
  kind: "rpc_result",
  subject: "GET http://127.0.0.1:26657/status result.sync_info.catching_up",
  expected: "false",
} as const;

type Step = Omit<SwitchStep, "order" | "isDestructive" | "command"> &
  Partial<Pick<SwitchStep, "isDestructive" | "command">>;

/** The procedure as data. Throws `invalid_parameter` when both are the same client. Pure. */
export function switchPlan(from: ExecutionClientName, to: ExecutionClientName): SwitchPlan {
  if (from === to)
    throw new AppError("invalid_parameter", "Name the other client: there is nothing to switch.", {
      param: "to",
    });
  return {
    from,
    to,
    notes: [
      "Switching is optional: both clients make a valid node.",
      "The databases are incompatible, and nothing converts one in place.",
      "Consensus data, validator keys and the node's identity stay as they are.",
      `${from} and ${to} cannot peer with each other: give the new client peers of its own kind.`,
      "An import cannot resume. After an interruption trim the export from the height after the one to which the database rolled back, and import again.",
    ],
    steps: numbered([
      ...preparation(),
      ...halt(),
      ...conversion(from, to),
      ...comparison(from),
      ...restart(),
    ]),
    rollback: numbered(wayBack(from, to)),
  };
}

function preparation(): readonly Step[] {
  return [
    {
      id: "back-up",
      title: "Back up the consensus data and the execution data",
      why: "The old execution data are deleted later, and are the way back.",
      checks: [
        {
          kind: "file_exists",
          subject: "{backup}/consensus",
          expected: "holds config and data, keys among them",
        },
        { kind: "file_exists", subject: "{backup}/execution", expected: "holds the whole old database" },
      ],
    },
    {
      id: "read-head",
      title: "Read the chain's head from the execution client's log",
      why: "The export goes to this height, and no further.",
      checks: [{ kind: "log_says", subject: "execution client's log", expected: "the newest block: {head}" }],
    },
  ];
}

function halt(): readonly Step[] {
  return [
    {
      id: "stop-consensus",
      title: "Stop the consensus client",
      why: "It goes first, so that it asks nothing of an execution client that is gone.",
      checks: [
        {
          kind: "process_stopped",
          subject: "consensus client",
          expected: "no process has the validator key",
        },
        SILENT_CONSENSUS,
      ],
    },
    {
      id: "stop-execution",
      title: "Stop the execution client",
      why: "A database that is in use cannot be exported.",
      checks: [
        { kind: "process_stopped", subject: "execution client", expected: "ended by itself, not killed" },
        SILENT_ENGINE,
        SILENT_RPC,
      ],
    },
  ];
}

function conversion(from: ExecutionClientName, to: ExecutionClientName): readonly Step[] {
  return [
    {
      id: "export",
      title: `Export the chain from block 1 to the head as RLP, with ${from}`,
      why:
        from === "geth"
          ? "Blocks are what both clients understand."
          : "Blocks are what both clients understand. Where this client has no export as RLP, take the file from a geth node of the same network.",
      command: COMMANDS[from].export,
      checks: [
        { kind: "file_exists", subject: EXPORT_FILE, expected: "ends with block {head}" },
        { kind: "log_says", subject: "the export", expected: "no error" },
      ],
    },
    {
      id: "delete-old-data",
      title: "Delete the old execution data",
      why: "The new client makes a database of its own.",
      command: "rm -r {old_data}",
      isDestructive: true,
      checks: [
        {
          kind: "file_exists",
          subject: "{backup}/execution",
          expected: "is there before anything is deleted",
        },
        { kind: "file_exists", subject: EXPORT_FILE, expected: "is there before anything is deleted" },
      ],
    },
    {
      id: "initialise",
      title: `Initialise ${to} from the same genesis file`,
      why: "Another genesis would be another chain. Do it once: it overwrites state.",
      command: COMMANDS[to].initialise,
      checks: [
        {
          kind: "files_equal",
          subject: "{genesis.json}",
          expected: "the file that the old client was initialised from",
        },
      ],
    },
    {
      id: "trim-genesis",
      title: "Trim block 0 from the export",
      why: "The new database has it already, and would refuse it.",
      command: `npm run node:doctor -- --trim 1 ${EXPORT_FILE} ${TRIMMED_FILE}`,
      checks: [{ kind: "file_exists", subject: TRIMMED_FILE, expected: "begins with block 1" }],
    },
    {
      id: "import",
      title: `Import the trimmed export into ${to}`,
      why: "Every block is executed anew, which takes long. It cannot resume: see the notes.",
      command: COMMANDS[to].import,
      checks: [
        { kind: "log_says", subject: "the import", expected: "block {head} as the last one" },
        { kind: "log_says", subject: "the import", expected: "no mismatched block state root" },
      ],
    },
  ];
}

function comparison(from: ExecutionClientName): readonly Step[] {
  return [
    {
      id: "start-execution",
      title: "Start the execution client alone",
      why: "It must be seen to be at the head before the consensus client asks it for anything.",
      checks: [
        ENGINE_LISTENS,
        { kind: "rpc_result", subject: "eth_syncing at 127.0.0.1:8545", expected: "false" },
        {
          kind: "files_equal",
          subject: "JWT secret files of both clients",
          expected: `the file that ${from} had`,
        },
      ],
    },
    {
      id: "compare-heights",
      title: "Compare eth_blockNumber with a public RPC",
      why: "A consensus client that meets one which lacks blocks ends in -38002 Invalid forkchoice state.",
      checks: [
        {
          kind: "heights_near",
          subject: "eth_blockNumber of the node and of a public RPC",
          expected: "equal, or within a few blocks",
        },
      ],
    },
  ];
}

function restart(): readonly Step[] {
  return [
    {
      id: "start-consensus",
      title: "Start the consensus client",
      why: "The node is whole again.",
      checks: [
        {
          kind: "process_stopped",
          subject: "every other machine with this validator key",
          expected: "runs no consensus client",
        },
        SYNCED,
        {
          kind: "rpc_result",
          subject: "GET http://127.0.0.1:26657/status result.validator_info.address",
          expected: "the same as before",
        },
      ],
    },
  ];
}

function wayBack(from: ExecutionClientName, to: ExecutionClientName): readonly Step[] {
  return [
    ...halt(),
    {
      id: "restore",
      title: "Restore the old execution data from the backup",
      why: `The data of ${to} are of no use to ${from}.`,
      command: "cp -a {backup}/execution {old_data}",
      checks: [{ kind: "files_equal", subject: "{old_data}", expected: "{backup}/execution" }],
    },
    {
      id: "start-old-execution",
      title: `Start ${from} with the setup that it had`,
      why: "It goes first, as always.",
      checks: [
        ENGINE_LISTENS,
        { kind: "rpc_result", subject: "eth_syncing at 127.0.0.1:8545", expected: "false" },
      ],
    },
    {
      id: "start-consensus",
      title: "Start the consensus client",
      why: "Its data and keys were never changed.",
      checks: [SYNCED],
    },
  ];
}

function numbered(steps: readonly Step[]): readonly SwitchStep[] {
  return steps.map((step, index) => ({
    command: undefined,
    isDestructive: false,
    ...step,
    order: index + 1,
  }));
}
