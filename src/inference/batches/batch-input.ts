import { createHash } from "node:crypto";
import { AppError } from "../../kernel/errors.ts";
import { BYTE_ORDER_MARK, hasByteOrderMark } from "../../kernel/text/byte-order-mark.ts";
import { isStorable, toStorable } from "../../kernel/text/storable.ts";
import { valuesOf } from "../body/json-member.ts";
import { parseJson } from "../body/request-fields.ts";
import type { BatchEndpoint, BatchError } from "./batch.ts";
import type { LinePlace } from "./batch-lines.store.ts";

/** Limits of the input of a batch. */
export type InputLimits = {
  readonly maxLines: number;
  readonly maxLineBytes: number;
};

/** OpenAI's number of lines; parsing a line of this size takes about 10 ms. */
export const INPUT_LIMITS: InputLimits = { maxLines: 50_000, maxLineBytes: 1_048_576 };

/** One request of the input: its `body` is the client's own bytes. */
export type BatchRequest = { readonly customId: string; readonly model: unknown; readonly body: Buffer };

const MAX_CUSTOM_ID = 512;
const MEMBERS: ReadonlySet<string> = new Set(["custom_id", "method", "url", "body"]);
/** How much of a member's name an error states. */
const MAX_NAMED = 64;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const EMPTY = Buffer.alloc(0);
/** 12 bytes of SHA-256: of 50,000 ids, no two are equal by chance. */
const DIGEST_CHARACTERS = 16;

/** A line of the input; `bytes` is undefined if it is longer than the limit, and empty if the line is blank. */
export type InputLine = LinePlace & { readonly bytes: Buffer | undefined };

/**
 * Splits an input into its lines as it arrives, without their line breaks (LF or CRLF) and a byte order mark before the
 * first.
 */
export class LineSplitter {
  readonly #maxLineBytes: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #startsAt = 0;
  #n = 0;

  constructor({ maxLineBytes }: Pick<InputLimits, "maxLineBytes">) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** The lines that end in these bytes, the next ones of the input: a part may have a million of them. */
  *push(bytes: Buffer): Generator<InputLine, void> {
    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(NEWLINE, at);
      this.#keep(bytes.subarray(at, end === -1 ? bytes.length : end));
      if (end === -1) break;
      const line = this.#take();
      this.#startsAt++;
      at = end + 1;
      yield line;
    }
  }

  /** The last line, if it has no line break. */
  end(): InputLine | undefined {
    return this.#waitingBytes > 0 ? this.#take() : undefined;
  }

  #keep(bytes: Buffer): void {
    this.#waitingBytes += bytes.length;
    // What is longer than a line with its line break and a mark is only counted.
    if (this.#waitingBytes <= this.#maxLineBytes + BYTE_ORDER_MARK.length + 1) this.#waiting.push(bytes);
    else this.#waiting = [];
  }

  #take(): InputLine {
    const n = ++this.#n;
    const whole = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
    const isWhole = whole.length === this.#waitingBytes;
    const [startsAt, sizeBytes] = [this.#startsAt, this.#waitingBytes];
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#startsAt += sizeBytes;
    if (!isWhole) return { n, startsAt, sizeBytes, bytes: undefined };
    const start = n === 1 && hasByteOrderMark(whole) ? BYTE_ORDER_MARK.length : 0;
    const end = whole[whole.length - 1] === RETURN ? whole.length - 1 : whole.length;
    const bytes = whole.subarray(start, Math.max(start, end));
    if (isBlank(bytes)) return { n, startsAt, sizeBytes, bytes: EMPTY };
    const place = { n, startsAt: startsAt + start, sizeBytes: bytes.length };
    return { ...place, bytes: bytes.length > this.#maxLineBytes ? undefined : bytes };
  }
}

/**
 * Reads one line of an input: `{"custom_id", "method", "url", "body"}`. Throws a `LineFault` for one that the batch of
 * this endpoint cannot have.
 */
export function readLine(bytes: Buffer, endpoint: BatchEndpoint): BatchRequest {
  const line = parseLine(bytes);
  for (const name of Object.keys(line))
    if (!MEMBERS.has(name))
      throw new LineFault("unknown_parameter", `${clipped(name)}: is not known here`, clipped(name));
  const { custom_id: customId, method, url, body } = line;
  if (typeof customId !== "string" || customId === "")
    throw new LineFault("missing_required_parameter", "custom_id: a text is required", "custom_id");
  if (customId.length > MAX_CUSTOM_ID)
    throw new LineFault("invalid_custom_id", `custom_id: at most ${MAX_CUSTOM_ID} characters`, "custom_id");
  if (!isStorable(customId))
    throw new LineFault("invalid_custom_id", "custom_id: has a character that is not allowed", "custom_id");
  if (method !== "POST") throw new LineFault("invalid_method", "method: must be POST", "method");
  if (url !== endpoint)
    throw new LineFault("invalid_url", `url: must be the endpoint of the batch, ${endpoint}`, "url");
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new LineFault("missing_required_parameter", "body: an object is required", "body");
  const [place] = valuesOf(bytes, "body");
  if (!place) throw new Error("a line has a body that was not found");
  const { model } = body as { readonly model?: unknown };
  return { customId, model, body: trimmed(bytes.subarray(place.start, place.end)) };
}

/** Checks the lines of an input one after the other, and collects what is wrong. */
export class InputCheck {
  readonly #endpoint: BatchEndpoint;
  readonly #limits: InputLimits;
  readonly #hasModel: (model: string) => boolean;
  readonly #customIds = new Set<string>();
  readonly #errors: BatchError[] = [];
  #lines = 0;
  #blankLines = 0;

  /** `hasModel` is whether a provider offers a model at this endpoint. */
  constructor(endpoint: BatchEndpoint, limits: InputLimits, hasModel: (model: string) => boolean) {
    this.#endpoint = endpoint;
    this.#limits = limits;
    this.#hasModel = hasModel;
  }

  /** The errors, at most 100, once all lines were checked or `isOver`. */
  get errors(): readonly BatchError[] {
    if (this.#errors.length > 0 || this.#lines > 0) return this.#errors;
    return [{ code: "empty_file", message: "The input file has no requests.", param: null, line: null }];
  }

  /** The number of lines. */
  get lines(): number {
    return this.#lines;
  }

  /** Whether no more lines need to be checked: there are too many, or too many errors. */
  get isOver(): boolean {
    const { maxLines } = this.#limits;
    return this.#lines > maxLines || this.#blankLines > maxLines || this.#errors.length >= MAX_ERRORS;
  }

  /** Checks the next line. Returns whether it is a valid request. Blank lines are left out, up to the limit of lines. */
  add({ n, bytes }: InputLine): boolean {
    if (bytes?.length === 0) {
      if (++this.#blankLines <= this.#limits.maxLines) return false;
      return this.#fault("too_many_lines", `A batch may have ${this.#limits.maxLines} blank lines.`, n);
    }
    this.#lines++;
    if (this.#lines > this.#limits.maxLines)
      return this.#fault("too_many_tasks", `A batch may have ${this.#limits.maxLines} requests.`, n);
    if (!bytes) return this.#fault("line_too_long", `A line may have ${this.#limits.maxLineBytes} bytes.`, n);
    try {
      const { customId, model } = readLine(bytes, this.#endpoint);
      const digest = createHash("sha256").update(customId).digest("base64").slice(0, DIGEST_CHARACTERS);
      if (this.#customIds.has(digest))
        return this.#fault("duplicate_custom_id", "custom_id: another line has the same", n, "custom_id");
      this.#customIds.add(digest);
      if (typeof model === "string" && !this.#hasModel(model))
        return this.#fault(
          "model_not_found",
          "body.model: no provider offers this model here",
          n,
          "body.model",
        );
      return true;
    } catch (error) {
      if (!(error instanceof LineFault)) throw error;
      return this.#fault(error.code, error.message, n, error.param);
    }
  }

  #fault(code: string, message: string, line: number, param: string | null = null): false {
    if (this.#errors.length < MAX_ERRORS) this.#errors.push({ code, message, param, line });
    return false;
  }
}

/** More errors are not listed, nor looked for. */
const MAX_ERRORS = 100;

/** What is wrong with a line, by OpenAI's codes where it has one. */
class LineFault extends Error {
  override readonly name = "LineFault";
  readonly code: string;
  readonly param: string | null;

  constructor(code: string, message: string, param: string | null = null) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

function parseLine(bytes: Buffer): Readonly<Record<string, unknown>> {
  let line: unknown;
  try {
    line = parseJson(bytes);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const message = error.message.replace(/^The body/, "The line");
    throw new LineFault("invalid_json_line", toStorable(message, message.length));
  }
  if (typeof line === "object" && line !== null && !Array.isArray(line))
    return line as Readonly<Record<string, unknown>>;
  throw new LineFault("invalid_json_line", "The line is not a JSON object.");
}

function trimmed(bytes: Buffer): Buffer {
  let [start, end] = [0, bytes.length];
  while (start < end && isSpace(bytes[start])) start++;
  while (end > start && isSpace(bytes[end - 1])) end--;
  return bytes.subarray(start, end);
}

function isBlank(bytes: Buffer): boolean {
  return trimmed(bytes).length === 0;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === RETURN || byte === NEWLINE;
}

function clipped(name: string): string {
  return toStorable(name, MAX_NAMED);
}
