import OpenAI, { toFile } from "openai";
import type { RouterStack } from "../router.ts";
import type { Seeded } from "../seed.ts";
import { until } from "../until.ts";

/** A line of an output or error file. */
export type OutputLine = {
  readonly id: string;
  readonly custom_id: string;
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: {
      readonly error?: { readonly code: string; readonly param: string | null };
      readonly x_0g_trace?: { readonly billing: { readonly total_cost: string } };
    } & Readonly<Record<string, unknown>>;
  } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
};

type Endpoint = OpenAI.BatchCreateParams["endpoint"];

const FINAL: ReadonlySet<string> = new Set(["completed", "failed", "expired", "cancelled"]);

/** The official client with the key of an account, and what tests of batches do with it. */
export class BatchClient {
  readonly openai: OpenAI;

  constructor({ origin }: Pick<RouterStack, "origin">, { secret }: Pick<Seeded, "secret">) {
    this.openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey: secret, maxRetries: 0 });
  }

  /** Uploads an input and creates its batch. */
  async start(text: string | Buffer, endpoint: Endpoint = "/v1/chat/completions"): Promise<OpenAI.Batch> {
    const file = await this.upload(text);
    return this.openai.batches.create({ input_file_id: file.id, endpoint, completion_window: "24h" });
  }

  async upload(text: string | Buffer): Promise<OpenAI.FileObject> {
    return this.openai.files.create({
      file: await toFile(Buffer.from(text), "input.jsonl"),
      purpose: "batch",
    });
  }

  /** Waits for the end of a batch. */
  ended(id: string): Promise<OpenAI.Batch> {
    return until(async () => {
      const batch = await this.openai.batches.retrieve(id);
      return FINAL.has(batch.status) && batch;
    });
  }

  /** The same for a new batch. */
  async run(text: string | Buffer, endpoint?: Endpoint): Promise<OpenAI.Batch> {
    return this.ended((await this.start(text, endpoint)).id);
  }

  /** The lines of a file; none if there is no file. */
  async lines(fileId: string | null | undefined): Promise<readonly OutputLine[]> {
    if (!fileId) return [];
    const text = await (await this.openai.files.content(fileId)).text();
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  }
}

/** Lines of an input. */
export function inputOf(lines: readonly unknown[]): string {
  return lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
}

/** The `n`th line of an input: a chat whose prompt contains its number. */
export function chatLine(n: number, model: string, body: object = {}) {
  return {
    custom_id: `request-${n}`,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model, max_tokens: 20, messages: [{ role: "user", content: `Question ${n}.` }], ...body },
  };
}

/** 1 to `count`. */
export function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, n) => n + 1);
}
