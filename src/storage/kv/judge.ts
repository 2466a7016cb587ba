import { isUtf8 } from "node:buffer";
import { findInTurns } from "../../kernel/async/map-in-turns.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { CONTROL_OPS, type ControlOp, type StreamControl, type StreamKey } from "./stream-data.ts";
import type { PlacedWrite, StreamHead } from "./stream-reader.ts";

/** The state of a transaction's streams and keys and the rights of its sender, before the transaction. */
export type StateBefore = {
  isHeld(streamId: Hex): boolean;
  /** The version at which a key was last written, 0 if never. */
  versionOf(at: StreamKey): bigint;
  /** A stream without any record of access control: the first to write to it becomes its admin. */
  isNew(streamId: Hex): boolean;
  isAdmin(streamId: Hex): boolean;
  isWriter(streamId: Hex): boolean;
  isSpecial(at: StreamKey): boolean;
  isKeyWriter(at: StreamKey): boolean;
};

/** A transaction on streams: its sender, and the streams in its tags. */
export type StreamTransaction = {
  readonly sender: Hex;
  readonly streamIds: ReadonlySet<Hex>;
};

/** A stored access control record: `key` is empty and `account` is zero when the operation has none. */
export type ControlRecord = {
  readonly op: number;
  readonly streamId: Hex;
  readonly key: Buffer;
  readonly account: Hex;
};

/** The outcome of a transaction. `result` is the text that the network's nodes return for it. */
export type Verdict =
  | {
      readonly kind: "commit";
      readonly result: "Commit";
      readonly writes: readonly PlacedWrite[];
      readonly controls: readonly ControlRecord[];
    }
  | { readonly kind: "refusal"; readonly result: string };

export const NO_ACCOUNT: Hex = `0x${"0".repeat(40)}`;
const NO_KEY = Buffer.alloc(0);
const FAMILY = 0xf0;
const SHOWN_KEY_CHARACTERS = 32;
const MAX_CHARACTER_BYTES = 4;

/** Operations that require an admin. The others require fewer rights, or none. */
const FOR_ADMINS: ReadonlySet<number> = new Set<number>([
  CONTROL_OPS.GRANT_ADMIN_ROLE,
  CONTROL_OPS.SET_KEY_TO_SPECIAL,
  CONTROL_OPS.SET_KEY_TO_NORMAL,
  CONTROL_OPS.REVOKE_WRITER_ROLE,
  CONTROL_OPS.REVOKE_SPECIAL_WRITER_ROLE,
]);
const RENOUNCED: ReadonlySet<ControlOp> = new Set<ControlOp>([
  "RENOUNCE_ADMIN_ROLE",
  "RENOUNCE_WRITER_ROLE",
  "RENOUNCE_SPECIAL_WRITER_ROLE",
]);

/** The rejection of a sender without rights on any of the transaction's streams; its file need not be read. */
export const NO_RIGHT: Verdict = { kind: "refusal", result: "SenderNoWritePermission" };

/**
 * Judges a transaction as every node of the network does (facts: storage section 5.3): reads and writes against the
 * version that their writer had seen, writes and controls against the sender's rights before the transaction. It is
 * committed as a whole or not at all. Each list may have 65,536 entries, so all are read in turns of the event loop.
 */
export async function judge(tx: StreamTransaction, head: StreamHead, before: StateBefore): Promise<Verdict> {
  const writes = await lastOfEach(head.writes);
  const controls = await effectiveControls(tx, head.controls, before);
  const result =
    (await readsFault(head, before)) ??
    (await writesFault(tx, head.version, writes, before)) ??
    (await controlsFault(tx, controls, before));
  return result === undefined
    ? { kind: "commit", result: "Commit", writes, controls }
    : { kind: "refusal", result };
}

/** One name for a key in its stream, for maps. */
export function keyName({ streamId, key }: StreamKey): string {
  return `${streamId}${key.toString("latin1")}`;
}

function readsFault({ reads, version }: StreamHead, before: StateBefore): Promise<string | undefined> {
  return findInTurns(reads, (read) => {
    if (!before.isHeld(read.streamId)) return "TagsMismatch";
    return before.versionOf(read) > version ? "VersionConfliction" : undefined;
  });
}

function writesFault(
  { streamIds }: StreamTransaction,
  version: bigint,
  writes: readonly PlacedWrite[],
  before: StateBefore,
): Promise<string | undefined> {
  return findInTurns(writes, (write) => {
    if (!streamIds.has(write.streamId)) return "TagsMismatch";
    if (before.versionOf(write) > version) return "VersionConfliction";
    if (mayWrite(write, before)) return undefined;
    return `WritePermissionDenied: stream: ${write.streamId}, key: ${shown(write.key)}`;
  });
}

function mayWrite(at: StreamKey, before: StateBefore): boolean {
  if (before.isNew(at.streamId) || before.isAdmin(at.streamId)) return true;
  return before.isSpecial(at) ? before.isKeyWriter(at) : before.isWriter(at.streamId);
}

/**
 * Of several operations of one family on the same stream, key and account, the last one counts. The first account to
 * write to a stream becomes its admin; granting that role to the sender, or twice to another account, has no effect.
 */
async function effectiveControls(
  { sender, streamIds }: StreamTransaction,
  controls: readonly StreamControl[],
  before: StateBefore,
): Promise<readonly ControlRecord[]> {
  const effective = new Map<string, ControlRecord>();
  for (const streamId of streamIds) {
    if (!before.isNew(streamId)) continue;
    const grant = { op: CONTROL_OPS.GRANT_ADMIN_ROLE, streamId, key: NO_KEY, account: sender };
    effective.set(controlName(grant), grant);
  }
  await findInTurns(controls, (control) => {
    const { op, streamId, key = NO_KEY } = control;
    const account = RENOUNCED.has(op) ? sender : (control.account ?? NO_ACCOUNT);
    const record = { op: CONTROL_OPS[op], streamId, key, account };
    const name = controlName(record);
    if (op === "GRANT_ADMIN_ROLE" && (account === sender || effective.has(name))) return;
    effective.set(name, record);
  });
  return [...effective.values()];
}

function controlsFault(
  { streamIds }: StreamTransaction,
  controls: readonly ControlRecord[],
  before: StateBefore,
): Promise<string | undefined> {
  return findInTurns(controls, (record) => {
    if (!streamIds.has(record.streamId)) return "TagsMismatch";
    if (mayControl(record, before)) return undefined;
    return `AccessControlPermissionDenied: operation: ${nameOf(record.op)}, stream: ${record.streamId}, key: ${shown(record.key)}, account: ${record.account}`;
  });
}

function mayControl(record: ControlRecord, before: StateBefore): boolean {
  if (before.isNew(record.streamId) || before.isAdmin(record.streamId)) return true;
  if (FOR_ADMINS.has(record.op)) return false;
  if (record.op === CONTROL_OPS.GRANT_WRITER_ROLE) return before.isWriter(record.streamId);
  if (record.op === CONTROL_OPS.GRANT_SPECIAL_WRITER_ROLE) return before.isKeyWriter(record);
  return true;
}

function controlName({ op, streamId, key, account }: ControlRecord): string {
  return `${op & FAMILY} ${account} ${keyName({ streamId, key })}`;
}

function nameOf(op: number): string {
  return Object.entries(CONTROL_OPS).find(([, code]) => code === op)?.[0] ?? "UNKNOWN";
}

/** A key as shown in results: its first 32 characters, `NONE` when empty, `UNKNOWN` when not valid UTF-8. */
function shown(key: Buffer): string {
  if (key.length === 0) return "NONE";
  if (!isUtf8(key)) return "UNKNOWN";
  // Only the bytes of the shown characters: to split a key of 8 MiB into its characters takes 0.3 s.
  const start = key.subarray(0, SHOWN_KEY_CHARACTERS * MAX_CHARACTER_BYTES);
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(start);
  // The database does not accept NUL in text.
  return [...text].slice(0, SHOWN_KEY_CHARACTERS).join("").replaceAll("\0", "\ufffd");
}

/** The last write of each key, in the order of the first ones. */
async function lastOfEach(writes: readonly PlacedWrite[]): Promise<readonly PlacedWrite[]> {
  const last = new Map<string, PlacedWrite>();
  await findInTurns(writes, (write) => void last.set(keyName(write), write));
  return [...last.values()];
}
