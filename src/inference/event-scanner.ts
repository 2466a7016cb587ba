const LF = 0x0a;
const CR = 0x0d;

/**
 * Cuts a server-sent event stream into whole events, blank line included, wherever the network cut it. It works on
 * bytes with a carried remainder, so that an event or a character in two chunks is put together and nothing else is
 * touched. An event may be at most `maxBytes` long.
 */
export class EventScanner {
  readonly #maxBytes: number;
  #rest: Buffer = Buffer.alloc(0);

  constructor(maxBytes = 1_048_576) {
    this.#maxBytes = maxBytes;
  }

  /** The events completed by `chunk`, in order. Throws when an event grows past the limit. */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const events: Buffer[] = [];
    let start = 0;
    for (let end = eventEnd(bytes, start); end !== -1; end = eventEnd(bytes, start)) {
      events.push(bytes.subarray(start, end));
      start = end;
    }
    this.#rest = bytes.subarray(start);
    if (this.#rest.length > this.#maxBytes) throw new Error("an event of the stream is too long");
    return events;
  }

  /** What came after the last whole event. */
  get remainder(): Buffer {
    return this.#rest;
  }
}

/** The text after `data:` of an event of one data line, or undefined. */
export function eventData(event: Buffer): string | undefined {
  const at = event.indexOf("data:");
  if (at !== 0 && event[at - 1] !== LF) return undefined;
  const end = event.indexOf(LF, at);
  return event.toString("utf8", at + 5, end === -1 ? event.length : end).trim();
}

function eventEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}
