import type { ExecutionClientName } from "./execution.client.ts";
import type { Step } from "./switch-step.ts";

const EXPORT_FILE = "{work}/chain.rlp";
const TRIMMED_FILE = "{work}/chain-from-1.rlp";

const COMMANDS = {
  geth: {
    export: `geth --datadir {old_data} export ${EXPORT_FILE} 1 {head}`,
    initialise: "geth --datadir {new_data} init {genesis.json}",
    import: `geth --datadir {new_data} import ${TRIMMED_FILE}`,
  },
  reth: {
    // reth exports formats other than RLP.
    export: undefined,
    initialise: "reth init --datadir {new_data} --chain {genesis.json}",
    import: `reth import --datadir {new_data} --chain {genesis.json} ${TRIMMED_FILE}`,
  },
} as const;

/** The steps that turn the database of one execution client into that of the other, through an export as RLP. */
export function conversion(from: ExecutionClientName, to: ExecutionClientName): readonly Step[] {
  return [
    {
      id: "export",
      title: `Export the chain from block 1 to the head as RLP, with ${from}`,
      why:
        from === "geth"
          ? "Both clients can read blocks."
          : "Both clients can read blocks. If this client has no RLP export, take the file from a geth node of the same network.",
      command: COMMANDS[from].export,
      checks: [
        { kind: "file_exists", subject: EXPORT_FILE, expected: "ends with block {head}" },
        { kind: "log_says", subject: "the export", expected: "no error" },
      ],
    },
    {
      id: "delete-old-data",
      title: "Delete the old execution data",
      why: "The new client creates its own database.",
      command: "rm -r {old_data}",
      isDestructive: true,
      checks: [
        {
          kind: "file_exists",
          subject: "{backup}/execution",
          expected: "exists before anything is deleted",
        },
        { kind: "file_exists", subject: EXPORT_FILE, expected: "exists before anything is deleted" },
      ],
    },
    {
      id: "initialise",
      title: `Initialise ${to} from the same genesis file`,
      why: "A different genesis would be a different chain. Initialise once: it overwrites state.",
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
      why: "The new database already has block 0, and would reject it.",
      command: `npm run node:doctor -- --trim 1 ${EXPORT_FILE} ${TRIMMED_FILE}`,
      checks: [{ kind: "file_exists", subject: TRIMMED_FILE, expected: "starts with block 1" }],
    },
    {
      id: "import",
      title: `Import the trimmed export into ${to}`,
      why: "Every block is executed again, which takes long. An import cannot resume: see the notes.",
      command: COMMANDS[to].import,
      checks: [
        { kind: "log_says", subject: "the import", expected: "block {head} is the last one" },
        { kind: "log_says", subject: "the import", expected: "no mismatched block state root" },
      ],
    },
  ];
}
