import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { hexToBytes, numberToHex, toRlp } from "viem";
import { expect, onTestFinished, test } from "vitest";
import { trimExport } from "../../../src/chain/node/trim-export.ts";

const HASH = `0x${"ab".repeat(32)}` as const;
const BLOOM = `0x${"00".repeat(256)}` as const;

/** A block in the format that clients export: header, transactions, uncles. */
function block(number: number, transactionBytes = 0): Uint8Array {
  const address = `0x${"cd".repeat(20)}` as const;
  const header = [
    ...[HASH, HASH, address, HASH, HASH, HASH, BLOOM, "0x" as const],
    ...[
      number === 0 ? ("0x" as const) : numberToHex(number),
      "0x1c9c380" as const,
      "0x" as const,
      "0x65" as const,
    ],
  ].map((field) => (field.length % 2 ? (`0x0${field.slice(2)}` as const) : field));
  const transactions = transactionBytes === 0 ? [] : [`0x${"02".repeat(transactionBytes)}` as const];
  return hexToBytes(toRlp([header, transactions, []]));
}

function newFiles(content: Uint8Array) {
  const folder = mkdtempSync(join(tmpdir(), "trim-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [from, to] = [join(folder, "chain.rlp"), join(folder, "trimmed.rlp")];
  writeFileSync(from, content);
  return { from, to };
}

const chain = (...numbers: readonly number[]) =>
  Buffer.concat(numbers.map((number) => block(number, number === 3 ? 70_000 : number)));

const NUMBERS = Array.from({ length: 301 }, (_, number) => number);
const WHOLE = NUMBERS.map((number) => chain(number));

test.each([
  [1, 1],
  [0, 0],
  [57, 57],
  [200, 200],
  [300, 300],
])("an export of blocks 0 to 300 is trimmed to begin at block %i", async (wanted, skipped) => {
  const { from, to } = newFiles(Buffer.concat(WHOLE));
  const rest = Buffer.concat(WHOLE.slice(wanted));
  expect(await trimExport(from, BigInt(wanted), to)).toEqual({
    first: 0n,
    from: BigInt(wanted),
    skippedBlocks: skipped,
    bytes: rest.length,
  });
  expect(readFileSync(to).equals(rest)).toBe(true);
});

test("an export that begins later is trimmed by the block numbers in it", async () => {
  const { from, to } = newFiles(chain(70_000, 70_001, 70_002));
  expect(await trimExport(from, 70_001n, to)).toMatchObject({ first: 70_000n, skippedBlocks: 1 });
  expect(readFileSync(to).equals(chain(70_001, 70_002))).toBe(true);
});

test.each([
  ["ends below", chain(0, 1, 2), 3n, /ends with block 2, below 3/],
  ["begins above", chain(5, 6), 3n, /starts with block 5, above 3/],
  ["has a gap", chain(0, 1, 3, 4), 4n, /Block 3 follows block 1/],
  ["is empty", Buffer.alloc(0), 1n, /is empty/],
  ["breaks off", chain(0, 1, 2).subarray(0, -1), 3n, /truncated in the block at byte \d+/],
  ["is compressed", gzipSync(chain(0, 1)), 1n, /gunzip/],
  ["is something else", Buffer.from("what is this"), 1n, /no RLP block at byte 0/],
  ["is a list of nothing", Buffer.from("c0", "hex"), 1n, /no RLP block/],
  ["claims to be huge", Buffer.from(`ff${"ff".repeat(8)}`, "hex"), 1n, /no RLP block/],
] as const)("an export that %s is refused, and nothing is written", async (_how, content, wanted, why) => {
  const { from, to } = newFiles(content);
  await expect(trimExport(from, wanted, to)).rejects.toThrow(why);
  expect(existsSync(to)).toBe(false);
});

test("an existing file is not overwritten", async () => {
  const { from, to } = newFiles(chain(0, 1));
  writeFileSync(to, "mine");
  await expect(trimExport(from, 1n, to)).rejects.toThrow(/EEXIST/);
  expect(readFileSync(to, "utf8")).toBe("mine");
});
