import { readOwn, writeOwn } from "../../../data/session/own-storage.ts";
import { SEGMENT, type SegmentStates } from "../worker/messages.ts";

const NAME = "uploads";
const MAX_KEPT = 20;
/** Of larger files it is not kept which segments are stored: 1 GiB. */
const MAX_KEPT_SEGMENTS = 4_096;

/** An upload that began and did not end, as this browser keeps it for an account: not its bytes. */
export type Unfinished = {
  readonly root: string;
  readonly name: string;
  readonly sizeBytes: number;
  /** A digit for each segment: 1 for one that the gateway has stored. */
  readonly stored?: string | undefined;
};

/** The uploads of an account that did not end, newest first. */
export function readUnfinished(address: string): readonly Unfinished[] {
  const kept = readOwn("local", address, NAME);
  return Array.isArray(kept) ? kept.filter(isUnfinished) : [];
}

/** Keeps an upload; which of its segments are stored is not lost by keeping it again. */
export function rememberUnfinished(address: string, upload: Unfinished): void {
  const kept = readUnfinished(address);
  const known = kept.find(({ root }) => root === upload.root);
  const others = kept.filter((other) => other !== known);
  writeOwn("local", address, NAME, [{ ...known, ...upload }, ...others].slice(0, MAX_KEPT));
}

/** Keeps which segments of an upload are stored. */
export function rememberStored(address: string, root: string, states: SegmentStates): void {
  const known = readUnfinished(address).find((upload) => upload.root === root);
  if (!known || states.length > MAX_KEPT_SEGMENTS) return;
  const stored = Array.from(states, (state) => (state === SEGMENT.done ? "1" : "0")).join("");
  if (stored !== known.stored) rememberUnfinished(address, { ...known, stored });
}

/** The segments of an upload that were stored when it stopped. */
export function storedSegments(address: string, root: string): ReadonlySet<number> {
  const { stored } = readUnfinished(address).find((upload) => upload.root === root) ?? {};
  return new Set([...String(stored ?? "")].flatMap((digit, index) => (digit === "1" ? [index] : [])));
}

export function forgetUnfinished(address: string, root: string): void {
  const others = readUnfinished(address).filter((upload) => upload.root !== root);
  writeOwn("local", address, NAME, others.length > 0 ? others : undefined);
}

function isUnfinished(value: unknown): value is Unfinished {
  if (typeof value !== "object" || value === null) return false;
  const { root, name, sizeBytes } = value as Partial<Unfinished>;
  return (
    typeof name === "string" &&
    typeof sizeBytes === "number" &&
    typeof root === "string" &&
    /^0x[0-9a-f]{64}$/.test(root)
  );
}
