import { expect, test } from "vitest";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { judge, keyName, type StateBefore, type Verdict } from "../../../src/storage/kv/judge.ts";
import { CONTROL_OPS, CONTROL_SHAPES, type StreamControl } from "../../../src/storage/kv/stream-data.ts";
import type { StreamHead } from "../../../src/storage/kv/stream-reader.ts";

const STREAM: Hex = `0x${"11".repeat(32)}`;
const OTHER: Hex = `0x${"22".repeat(32)}`;
const SENDER: Hex = `0x${"aa".repeat(20)}`;
const FRIEND: Hex = `0x${"bb".repeat(20)}`;
const KEY = at("price");

const DENIED = `WritePermissionDenied: stream: ${STREAM}, key: price`;

test.each<[string, Partial<Rights>, string]>([
  ["anyone writes to a new stream", { isNew: true }, "Commit"],
  ["an admin writes", { isAdmin: true }, "Commit"],
  ["an admin writes to a special key", { isAdmin: true, isSpecial: true }, "Commit"],
  ["a writer of the stream writes", { isWriter: true }, "Commit"],
  ["a writer of the stream does not write to a special key", { isWriter: true, isSpecial: true }, DENIED],
  ["a writer of a special key writes to it", { isSpecial: true, isKeyWriter: true }, "Commit"],
  ["a writer of a key does not write to it once it is normal", { isKeyWriter: true }, DENIED],
  ["other accounts do not write", {}, DENIED],
  [
    "a writer does not overwrite a version that it has not seen",
    { isWriter: true, version: 8n },
    "VersionConfliction",
  ],
  ["a writer overwrites the version that it has seen", { isWriter: true, version: 7n }, "Commit"],
])("%s", async (_name, rights, result) => {
  expect((await judge(tx(), head({ writes: [write(KEY)] }), before(rights))).result).toBe(result);
});

test.each<[string, StreamControl["op"], Partial<Rights>, boolean]>([
  ["an admin grants anything", "GRANT_ADMIN_ROLE", { isAdmin: true }, true],
  ["a writer makes no account an admin", "GRANT_ADMIN_ROLE", { isWriter: true }, false],
  ["an admin makes a key special", "SET_KEY_TO_SPECIAL", { isAdmin: true }, true],
  ["a writer does not make a key special", "SET_KEY_TO_SPECIAL", { isWriter: true }, false],
  ["a writer does not make a key normal", "SET_KEY_TO_NORMAL", { isWriter: true }, false],
  ["a writer makes others writers", "GRANT_WRITER_ROLE", { isWriter: true }, true],
  [
    "a writer of a key makes no account a writer of the stream",
    "GRANT_WRITER_ROLE",
    { isKeyWriter: true },
    false,
  ],
  ["a writer revokes no writer", "REVOKE_WRITER_ROLE", { isWriter: true }, false],
  ["a writer of a key makes others writers of it", "GRANT_SPECIAL_WRITER_ROLE", { isKeyWriter: true }, true],
  [
    "a writer of the stream makes no account a writer of a key",
    "GRANT_SPECIAL_WRITER_ROLE",
    { isWriter: true },
    false,
  ],
  ["a writer of a key revokes no writer", "REVOKE_SPECIAL_WRITER_ROLE", { isKeyWriter: true }, false],
  ["every account may renounce writing", "RENOUNCE_WRITER_ROLE", {}, true],
  ["every account may renounce writing a key", "RENOUNCE_SPECIAL_WRITER_ROLE", {}, true],
  ["every account may renounce being admin", "RENOUNCE_ADMIN_ROLE", {}, true],
])("%s", async (_name, op, rights, isAllowed) => {
  const { result } = await judge(tx(), head({ controls: [control(op)] }), before(rights));
  if (isAllowed) expect(result).toBe("Commit");
  else
    expect(result).toMatch(
      new RegExp(`^AccessControlPermissionDenied: operation: ${op}, stream: ${STREAM}, key: `),
    );
});

test("the first writer of a stream becomes its admin, and may renounce the role at once", async () => {
  expect(controlsOf(await judge(tx(), head({ writes: [write(KEY)] }), before({ isNew: true })))).toEqual([
    ["GRANT_ADMIN_ROLE", SENDER],
  ]);
  const renounced = head({ controls: [control("RENOUNCE_ADMIN_ROLE")] });
  expect(controlsOf(await judge(tx(), renounced, before({ isNew: true })))).toEqual([
    ["RENOUNCE_ADMIN_ROLE", SENDER],
  ]);
});

test("the last of several operations of one kind wins, and granting oneself the admin role changes nothing", async () => {
  const controls = [
    control("GRANT_WRITER_ROLE"),
    control("REVOKE_WRITER_ROLE"),
    control("GRANT_ADMIN_ROLE", { account: SENDER }),
    control("RENOUNCE_ADMIN_ROLE"),
    control("SET_KEY_TO_SPECIAL"),
    control("SET_KEY_TO_NORMAL"),
  ];
  expect(controlsOf(await judge(tx(), head({ controls }), before({ isAdmin: true })))).toEqual([
    ["REVOKE_WRITER_ROLE", FRIEND],
    ["RENOUNCE_ADMIN_ROLE", SENDER],
    ["SET_KEY_TO_NORMAL", `0x${"00".repeat(20)}`],
  ]);
});

test("permissions are those before the transaction: its own grants do not help it", async () => {
  const controls = [control("GRANT_WRITER_ROLE", { account: SENDER })];
  expect((await judge(tx(), head({ controls, writes: [write(KEY)] }), before({}))).result).toBe(DENIED);
});

test("the last of two writes to a key wins", async () => {
  const writes = [write(KEY, 0, 5), write(at("other"), 5, 1), write(KEY, 6, 3)];
  const verdict = await judge(tx(), head({ writes }), before({ isAdmin: true }));
  expect(
    verdict.kind === "commit" && verdict.writes.map(({ offset, sizeBytes }) => [offset, sizeBytes]),
  ).toEqual([
    [6, 3],
    [5, 1],
  ]);
});

test("a stream that the tags do not name is neither written nor controlled", async () => {
  const foreign = { streamId: OTHER, key: Buffer.from("k") };
  const admin = before({ isAdmin: true });
  expect((await judge(tx(), head({ writes: [write(foreign)] }), admin)).result).toBe("TagsMismatch");
  const controls = [{ ...control("RENOUNCE_WRITER_ROLE"), streamId: OTHER }];
  expect((await judge(tx(), head({ controls }), admin)).result).toBe("TagsMismatch");
});

test("every key read must be unchanged since, and its stream must be held here", async () => {
  const reads = [{ streamId: OTHER, key: Buffer.from("k") }];
  expect((await judge(tx(), head({ reads }), before({ isAdmin: true }))).result).toBe("Commit");
  expect((await judge(tx(), head({ reads }), before({ isAdmin: true, version: 9n }))).result).toBe(
    "VersionConfliction",
  );
  expect((await judge(tx(), head({ reads }), before({ isAdmin: true, isHeld: false }))).result).toBe(
    "TagsMismatch",
  );
});

test("a result names a key as text of at most 32 characters, or as unknown", async () => {
  const resultFor = async (key: Buffer) =>
    (await judge(tx(), head({ writes: [write({ streamId: STREAM, key })] }), before({}))).result;
  expect(await resultFor(Buffer.from("é".repeat(40)))).toBe(
    `WritePermissionDenied: stream: ${STREAM}, key: ${"é".repeat(32)}`,
  );
  expect(await resultFor(Buffer.of(0xff))).toMatch(/key: UNKNOWN$/);
  expect(await resultFor(Buffer.of(0))).not.toContain("\0");
});

type Rights = {
  isNew: boolean;
  isAdmin: boolean;
  isWriter: boolean;
  isSpecial: boolean;
  isKeyWriter: boolean;
  isHeld: boolean;
  version: bigint;
};

function before(rights: Partial<Rights>): StateBefore {
  const { isNew, isAdmin, isWriter, isSpecial, isKeyWriter, isHeld = true, version = 0n } = rights;
  return {
    isHeld: () => isHeld,
    versionOf: () => version,
    isNew: () => isNew ?? false,
    isAdmin: () => isAdmin ?? false,
    isWriter: () => isWriter ?? false,
    isSpecial: () => isSpecial ?? false,
    isKeyWriter: () => isKeyWriter ?? false,
  };
}

function tx() {
  return { sender: SENDER, streamIds: new Set([STREAM]) };
}

function head(parts: Partial<StreamHead>): StreamHead {
  return { version: 7n, reads: [], writes: [], controls: [], ...parts };
}

function at(key: string) {
  return { streamId: STREAM, key: Buffer.from(key) };
}

function write(key: { streamId: Hex; key: Buffer }, offset = 0, sizeBytes = 1) {
  return { ...key, offset, sizeBytes };
}

function control(op: StreamControl["op"], more: Partial<StreamControl> = {}): StreamControl {
  const { key, account } = CONTROL_SHAPES[op];
  return {
    ...{ op, streamId: STREAM },
    ...(key && { key: KEY.key }),
    ...(account && { account: FRIEND }),
    ...more,
  };
}

function controlsOf(verdict: Verdict) {
  if (verdict.kind !== "commit") throw new Error(verdict.result);
  const names = new Map<number, string>(Object.entries(CONTROL_OPS).map(([name, op]) => [op, name]));
  return verdict.controls.map(({ op, account }) => [names.get(op), account]);
}

test("one name is one key of one stream", async () => {
  expect(keyName(at("a"))).not.toBe(keyName({ ...at("a"), streamId: OTHER }));
});
