import { AppError } from "../../kernel/errors.ts";
import { conversion } from "./conversion-steps.ts";
import type { ExecutionClientName } from "./execution.client.ts";
import { numbered, type Step, type SwitchStep } from "./switch-step.ts";

/** The procedure to switch from one execution client to the other, and to roll back (SPEC 4.5). */
export type SwitchPlan = {
  readonly from: ExecutionClientName;
  readonly to: ExecutionClientName;
  readonly notes: readonly string[];
  readonly steps: readonly SwitchStep[];
  /** Applies from any step. */
  readonly rollback: readonly SwitchStep[];
};

const CONSENSUS_STOPPED = {
  kind: "port_silent",
  subject: "127.0.0.1:26657",
  expected: "refuses connections",
} as const;
const ENGINE_STOPPED = {
  kind: "port_silent",
  subject: "127.0.0.1:8551",
  expected: "refuses connections",
} as const;
const RPC_STOPPED = {
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

/** The procedure as data. Throws `invalid_parameter` if both are the same client. Pure. */
export function switchPlan(from: ExecutionClientName, to: ExecutionClientName): SwitchPlan {
  if (from === to)
    throw new AppError("invalid_parameter", "The two clients must differ: there is nothing to switch.", {
      param: "to",
    });
  return {
    from,
    to,
    notes: [
      "Switching is optional: a node is valid with either client.",
      "The databases are incompatible, and cannot be converted in place.",
      "Consensus data, validator keys and the node's identity stay as they are.",
      `${from} and ${to} cannot peer with each other: give the new client peers of its own kind.`,
      "An import cannot resume. After an interruption, trim the export to start right after the height to which the database rolled back, and import again.",
    ],
    steps: numbered([
      ...preparation(),
      ...halt(),
      ...conversion(from, to),
      ...comparison(from),
      ...restart(),
    ]),
    rollback: numbered(rollback(from, to)),
  };
}

function preparation(): readonly Step[] {
  return [
    {
      id: "back-up",
      title: "Back up the consensus data and the execution data",
      why: "The old execution data is deleted later, and rolling back needs it.",
      checks: [
        {
          kind: "file_exists",
          subject: "{backup}/consensus",
          expected: "contains config and data, including keys",
        },
        { kind: "file_exists", subject: "{backup}/execution", expected: "contains the whole old database" },
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
      why: "It stops first, so that it does not call an execution client that is gone.",
      checks: [
        {
          kind: "process_stopped",
          subject: "consensus client",
          expected: "no process has the validator key",
        },
        CONSENSUS_STOPPED,
      ],
    },
    {
      id: "stop-execution",
      title: "Stop the execution client",
      why: "A database that is in use cannot be exported.",
      checks: [
        { kind: "process_stopped", subject: "execution client", expected: "exited gracefully, not killed" },
        ENGINE_STOPPED,
        RPC_STOPPED,
      ],
    },
  ];
}

function comparison(from: ExecutionClientName): readonly Step[] {
  return [
    {
      id: "start-execution",
      title: "Start only the execution client",
      why: "It must be at the head before the consensus client calls it.",
      checks: [
        ENGINE_LISTENS,
        { kind: "rpc_result", subject: "eth_syncing at 127.0.0.1:8545", expected: "false" },
        {
          kind: "files_equal",
          subject: "JWT secret files of both clients",
          expected: `the file that ${from} used`,
        },
      ],
    },
    {
      id: "compare-heights",
      title: "Compare eth_blockNumber with a public RPC",
      why: "If the execution client lacks blocks, the consensus client fails with -38002 Invalid forkchoice state.",
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
      why: "The node is complete again.",
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

function rollback(from: ExecutionClientName, to: ExecutionClientName): readonly Step[] {
  return [
    ...halt(),
    {
      id: "restore",
      title: "Restore the old execution data from the backup",
      why: `${from} cannot use the data of ${to}.`,
      command: "cp -a {backup}/execution {old_data}",
      checks: [{ kind: "files_equal", subject: "{old_data}", expected: "{backup}/execution" }],
    },
    {
      id: "start-old-execution",
      title: `Start ${from} with its previous configuration`,
      why: "The execution client always starts first.",
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
