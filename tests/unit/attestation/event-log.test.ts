import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type LogEvent, readReport } from "../../../src/inference/attestation/attestation-report.ts";
import { composeHashOf, replayRuntimeLog } from "../../../src/inference/attestation/event-log.ts";

/** The log of a real broker: only events of the runtime register have names that it proves. */
const EVENTS: readonly LogEvent[] =
  readReport(readFileSync(new URL("../../fixtures/attestation/broker.json", import.meta.url)))?.events ?? [];
const RUNTIME_EVENT = 0x0800_0001;
const ALLOWED = "ab".repeat(32);
/** Its first byte is a colon, which one composition of 256 has. */
const RUNNING = `3a${"cd".repeat(31)}`;

function sha384(...parts: readonly (string | Buffer)[]): Buffer {
  const hash = createHash("sha384");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** An event as a virtual machine measures it. */
function measured(event: string, payload: string): LogEvent {
  const type = Buffer.alloc(4);
  type.writeUInt32LE(RUNTIME_EVENT);
  const digest = sha384(type, `:${event}:`, Buffer.from(payload, "hex")).toString("hex");
  return { imr: 3, event_type: RUNTIME_EVENT, event, event_payload: payload, digest };
}

/** What the register has after these events: it sees their digests alone. */
function registerOf(events: readonly LogEvent[]): string {
  let register: Buffer = Buffer.alloc(48);
  for (const { imr, digest } of events)
    if (imr === 3) register = sha384(register, Buffer.from(digest, "hex"));
  return register.toString("hex");
}

/** The composition that a log proves for a register. */
function provedBy(published: readonly LogEvent[], register: string): string | undefined {
  return replayRuntimeLog(published)?.toString("hex") === register ? composeHashOf(published) : undefined;
}

test("a real log proves its composition", () => {
  expect(provedBy(EVENTS, registerOf(EVENTS))).toBe(composeHashOf(EVENTS));
  expect(composeHashOf(EVENTS)).toMatch(/^[0-9a-f]{64}$/);
});

// A program may add events of any name to the register once it runs, but cannot remove that of its own composition.
const own = measured("compose-hash", RUNNING);
test.each<[string, readonly LogEvent[]]>([
  ["as it is", [own]],
  ["as an event of another type", [{ ...own, event_type: 1 }]],
  [
    "under a name that ends at another colon",
    [{ ...own, event: "compose-hash:", event_payload: RUNNING.slice(2) }],
  ],
  ["under another name", [{ ...own, event: "app-id" }]],
  ["with something after its payload", [{ ...own, event_payload: `${RUNNING}x` }]],
  ["nowhere", []],
])(
  "a program that adds the composition of another one proves neither, with its own listed %s",
  (_, listed) => {
    const added = measured("compose-hash", ALLOWED);
    const register = registerOf([measured("app-id", "01"), own, measured("system-ready", ""), added]);
    const published = [measured("app-id", "01"), ...listed, measured("system-ready", ""), added];
    expect(provedBy(published, register)).toBeUndefined();
  },
);
