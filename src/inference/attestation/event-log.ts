import { createHash } from "node:crypto";
import type { LogEvent } from "./attestation-report.ts";

/** The type of the events that the software of the virtual machine adds. */
const RUNTIME_EVENT = 134_217_729;
const RUNTIME_REGISTER = 3;
const REGISTER_BYTES = 48;

/**
 * Replays the events of the runtime register from zeros (facts: evidence 2). Undefined if an event's digest is not of its
 * type, name and payload, or also of others, so that the names and payloads of a log can only be trusted if the result
 * equals RTMR3. No event is left out, whatever its type: the software may have the composition of another program
 * measured, and its own then be listed as something else.
 */
export function replayRuntimeLog(events: readonly LogEvent[]): Buffer | undefined {
  let register = Buffer.alloc(REGISTER_BYTES);
  for (const event of events) {
    if (event.imr !== RUNTIME_REGISTER) continue;
    const digest = Buffer.from(event.digest, "hex");
    if (!isReadOneWay(event) || !digest.equals(digestOf(event))) return undefined;
    register = sha384(register, digest);
  }
  return register;
}

/** The hash of the composition that the virtual machine runs; undefined if the log does not name exactly one. */
export function composeHashOf(events: readonly LogEvent[]): string | undefined {
  const [found, ...others] = events.filter(
    ({ imr, event }) => imr === RUNTIME_REGISTER && event === "compose-hash",
  );
  const isOne = found?.event_type === RUNTIME_EVENT && others.length === 0;
  return isOne ? found.event_payload.toLowerCase() : undefined;
}

/** Whether the name has no colon of its own, which would make its end ambiguous, and the payload is all hexadecimal. */
function isReadOneWay({ event, event_payload: payload }: LogEvent): boolean {
  return !event.includes(":") && event.isWellFormed() && /^([0-9a-fA-F]{2})*$/.test(payload);
}

function digestOf({ event_type: type, event, event_payload: payload }: LogEvent): Buffer {
  const typeBytes = Buffer.alloc(4);
  typeBytes.writeUInt32LE(type);
  return sha384(typeBytes, Buffer.from(`:${event}:`), Buffer.from(payload, "hex"));
}

function sha384(...parts: readonly Buffer[]): Buffer<ArrayBuffer> {
  const hash = createHash("sha384");
  for (const part of parts) hash.update(part);
  return hash.digest();
}
