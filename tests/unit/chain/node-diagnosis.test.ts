import { describe, expect, test } from "vitest";
import { diagnose } from "../../../src/chain/node/diagnosis.ts";
import { switchPlan } from "../../../src/chain/node/switch-plan.ts";
import { timeTurn } from "../../support/attack/event-loop.ts";

const [GOT, EXPECTED] = [`0x${"a".repeat(64)}`, `0x${"B".repeat(64)}`];

describe("a message of SPEC 7", () => {
  test.each([
    "-38002 Invalid forkchoice state",
    'ERR failed to process payload err="-38002: Invalid forkchoice state" module=engine',
    '{"jsonrpc":"2.0","id":7,"error":{"code":-38002,"message":"Invalid forkchoice state"}}',
  ])("%s: stop the consensus client, wait for the head, restart", (message) => {
    const found = diagnose(message);
    expect(found?.kind).toBe("invalid_forkchoice_state");
    expect(found?.cause).toMatch(/still syncing/);
    expect(found?.next.map((step) => step.split(" ").slice(0, 2).join(" "))).toEqual([
      "Stop the",
      "Wait until",
      "Start the",
    ]);
  });

  test.each([
    ["block number 150 does not match parent block number 99", 150n, 99n, 100n],
    ["Error: block number 2387558 does not match parent block number 0", 2_387_558n, 0n, 1n],
    ["ERROR Block number  7\n does not match parent block number 5\n", 7n, 5n, 6n],
    [
      "block number 999999999999999999 does not match parent block number 999999999999999997",
      999_999_999_999_999_999n,
      999_999_999_999_999_997n,
      999_999_999_999_999_998n,
    ],
  ])(
    "%s: the export is trimmed again from the height after the database's",
    (message, block, parent, from) => {
      const found = diagnose(message);
      expect(found).toMatchObject({
        kind: "interrupted_import",
        blockNumber: block,
        parentBlockNumber: parent,
        retrimFrom: from,
      });
      expect(found?.next[0]).toContain(`block ${from}`);
    },
  );

  test.each([
    [
      `ERROR Stage encountered a validation error: mismatched block state root: got ${GOT}, expected ${EXPECTED} stage=MerkleExecute bad_block=4711`,
      4_711n,
      { got: GOT, expected: EXPECTED },
    ],
    [
      `Failed to insert block (hash=${GOT}, number=5470136, parent_hash=${GOT}): mismatched block state root: got ${GOT}, expected ${EXPECTED}`,
      5_470_136n,
      { got: GOT, expected: EXPECTED },
    ],
    ["mismatched block state root", undefined, undefined],
  ])("%s: report the block and its roots, and do not skip it", (message, blockNumber, stateRoots) => {
    const found = diagnose(message);
    expect(found).toMatchObject({ kind: "mismatched_state_root" });
    expect([found?.blockNumber, found?.stateRoots]).toEqual([blockNumber, stateRoots]);
    expect(found?.never.join()).toMatch(/not skip the block manually/);
    if (blockNumber !== undefined) expect(found?.next.join()).toContain(`Report block ${blockNumber}`);
  });

  test.each([
    "open /srv/node/0gchaind-home/data/priv_validator_state.json: no such file or directory",
    'missing "priv_validator_state.json"',
  ])("%s: create the file with an empty object", (message) => {
    const found = diagnose(message);
    expect(found?.kind).toBe("missing_validator_state");
    expect(found?.next.join()).toContain("{}");
    expect(found?.never.join()).toMatch(/two machines/);
  });
});

test.each([
  ["401 Unauthorized: JWT signature is invalid", "engine_refuses_secret"],
  ["could not dial execution client at http://127.0.0.1:8551: connection refused", "engine_unreachable"],
  ["", undefined],
  ["block number x does not match parent block number y", undefined],
  ["connection refused by peer 10.0.0.1:26656", undefined],
  ["block number 1234567890123456789012345 does not match parent block number 1", undefined],
])("%s is %s", (message, kind) => {
  expect(diagnose(message)?.kind).toBe(kind);
});

test("any message is classified in bounded time, and one that is too long is refused", () => {
  const { ms } = timeTurn(() => {
    for (const piece of ["got 0x", "block number ", "1", " ", "jwt "])
      diagnose(piece.repeat(16_384 / piece.length));
  });
  expect(ms).toBeLessThan(200);
  expect(() => diagnose("x".repeat(16_385))).toThrow(/at most 16384 characters/);
});

describe("the plan of a client switch", () => {
  const ids = (steps: readonly { id: string }[]) => steps.map(({ id }) => id);

  test.each([
    ["geth", "reth"],
    ["reth", "geth"],
  ] as const)("from %s to %s keeps the order of SPEC 4.5, with a check for every step", (from, to) => {
    const { steps, rollback, notes } = switchPlan(from, to);
    expect(ids(steps)).toEqual([
      "back-up",
      "read-head",
      "stop-consensus",
      "stop-execution",
      "export",
      "delete-old-data",
      "initialise",
      "trim-genesis",
      "import",
      "start-execution",
      "compare-heights",
      "start-consensus",
    ]);
    expect(ids(rollback)).toEqual([
      "stop-consensus",
      "stop-execution",
      "restore",
      "start-old-execution",
      "start-consensus",
    ]);
    for (const procedure of [steps, rollback]) {
      expect(procedure.map(({ order }) => order)).toEqual(procedure.map((_, index) => index + 1));
      for (const step of procedure) expect(step.checks.length, step.id).toBeGreaterThan(0);
    }
    expect(ids(steps.filter(({ isDestructive }) => isDestructive))).toEqual(["delete-old-data"]);
    const deletion = steps.find(({ id }) => id === "delete-old-data");
    expect(deletion?.checks.map(({ subject }) => subject)).toEqual([
      "{backup}/execution",
      "{work}/chain.rlp",
    ]);
    expect(steps.find(({ id }) => id === "initialise")?.command).toMatch(new RegExp(`^${to} .*genesis`));
    expect(steps.find(({ id }) => id === "import")?.command).toMatch(new RegExp(`^${to} .*import`));
    for (const said of [/cannot peer/, /cannot resume/, /optional/, /keys .* stay as they are/])
      expect(notes.join(" ")).toMatch(said);
  });

  test("from a client to itself is refused", () => {
    expect(() => switchPlan("reth", "reth")).toThrow(/nothing to switch/);
  });
});
