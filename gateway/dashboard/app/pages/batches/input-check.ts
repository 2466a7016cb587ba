/** The endpoints whose requests a batch may consist of. */
export const BATCH_ENDPOINTS = [
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/embeddings",
  "/v1/completions",
] as const;
type Endpoint = (typeof BATCH_ENDPOINTS)[number];

/** What is wrong with a line; `line` is its 1-based number. */
export type LineFault = { readonly line: number; readonly message: string };

/** What an input has. With `faults` the server would refuse it; they are the first ones, in order. */
export type InputSummary = {
  readonly requests: number;
  readonly endpoint: Endpoint | undefined;
  /** The models with their numbers of requests. */
  readonly models: ReadonlyMap<string, number>;
  readonly faults: readonly LineFault[];
};

const MAX_FAULTS = 10;
const MAX_LINES = 50_000;
const MAX_LINE_BYTES = 1_048_576;
const MAX_CUSTOM_ID = 512;
const MEMBERS = new Set(["custom_id", "method", "url", "body"]);
/** Checking pauses this often, so that the page stays usable. */
const TURN_MS = 12;

/**
 * Checks an input as the server will: one request a line, `{"custom_id", "method", "url", "body"}`. It is read in parts,
 * and stops at the tenth fault, or when `signal` aborts. `models` are those that a provider offers; undefined while they
 * are not known, and then models are not checked.
 */
export async function checkBatchInput(
  file: Blob,
  { models, signal }: { readonly models?: ReadonlySet<string> | undefined; readonly signal: AbortSignal },
): Promise<InputSummary> {
  const check = new Check(models);
  let since = performance.now();
  for await (const line of linesOf(file, signal)) {
    if (signal.aborted || check.isOver) break;
    check.add(line);
    if (performance.now() - since < TURN_MS) continue;
    await new Promise((resolve) => setTimeout(resolve, 0));
    since = performance.now();
  }
  return check.summary();
}

/** The lines of a file; undefined for one that is longer than a line may be, which is also the last one. */
async function* linesOf(file: Blob, signal: AbortSignal): AsyncGenerator<string | undefined, void> {
  const reader = file.stream().getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
      if (rest.length > MAX_LINE_BYTES) yield undefined;
      if (done || signal.aborted || rest.length > MAX_LINE_BYTES) break;
    }
    if (rest.length <= MAX_LINE_BYTES && rest !== "") yield rest;
  } finally {
    void reader.cancel().catch(() => {});
  }
}

class Check {
  readonly #known: ReadonlySet<string> | undefined;
  readonly #faults: LineFault[] = [];
  readonly #models = new Map<string, number>();
  readonly #ids = new Map<string, number>();
  #endpoint: Endpoint | undefined;
  #line = 0;
  #requests = 0;

  constructor(known: ReadonlySet<string> | undefined) {
    this.#known = known;
  }

  get isOver(): boolean {
    return this.#faults.length >= MAX_FAULTS || this.#requests > MAX_LINES;
  }

  add(text: string | undefined): void {
    this.#line++;
    if (text?.trim() === "") return;
    this.#requests++;
    const fault = this.#faultOf(text);
    if (fault !== undefined) this.#faults.push({ line: this.#line, message: fault });
  }

  summary(): InputSummary {
    const isEmpty = this.#requests === 0 && this.#faults.length === 0;
    return {
      requests: this.#requests,
      endpoint: this.#endpoint,
      models: this.#models,
      faults: isEmpty ? [{ line: 1, message: "The file has no requests." }] : this.#faults,
    };
  }

  #faultOf(text: string | undefined): string | undefined {
    if (this.#requests > MAX_LINES) return `A batch may have ${MAX_LINES} requests.`;
    if (text !== undefined && !isTooLong(text)) return this.#read(text);
    return `A line may have ${MAX_LINE_BYTES.toLocaleString("en")} bytes.`;
  }

  /** Counts a request. Returns what is wrong with it. */
  #read(text: string): string | undefined {
    let line: unknown;
    try {
      line = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
    } catch {
      return "This is not JSON: each line is one request.";
    }
    if (!isObject(line)) return "This is not a JSON object.";
    const unknown = Object.keys(line).find((name) => !MEMBERS.has(name));
    if (unknown !== undefined) return `${unknown.slice(0, 64)}: is not known here.`;
    const { custom_id: id, method, url, body } = line;
    if (typeof id !== "string" || id === "") return "custom_id: a text is required.";
    if (id.length > MAX_CUSTOM_ID) return `custom_id: at most ${MAX_CUSTOM_ID} characters.`;
    const other = this.#ids.get(id);
    if (other !== undefined) return `custom_id: line ${other} has the same.`;
    this.#ids.set(id, this.#line);
    if (method !== "POST") return "method: must be POST.";
    const fault = this.#readUrl(url);
    if (fault !== undefined) return fault;
    return this.#readBody(body);
  }

  #readUrl(url: unknown): string | undefined {
    const endpoint = BATCH_ENDPOINTS.find((known) => known === url);
    if (!endpoint) return `url: must be one of ${BATCH_ENDPOINTS.join(", ")}.`;
    this.#endpoint ??= endpoint;
    if (endpoint === this.#endpoint) return undefined;
    return `url: must be ${this.#endpoint}, as in the lines before: a batch has one endpoint.`;
  }

  #readBody(body: unknown): string | undefined {
    if (!isObject(body)) return "body: an object is required.";
    const { model } = body;
    if (typeof model !== "string") return "body.model: a text is required.";
    if (this.#known && !this.#known.has(model))
      return `body.model: no provider offers ${model.slice(0, 64)}.`;
    this.#models.set(model, (this.#models.get(model) ?? 0) + 1);
    return undefined;
  }
}

function isTooLong(text: string): boolean {
  // A character has at most 3 bytes for each unit of its length.
  if (text.length * 3 <= MAX_LINE_BYTES) return false;
  return new TextEncoder().encode(text).length > MAX_LINE_BYTES;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
