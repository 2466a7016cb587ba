import { writeFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import type { Queries } from "../../../src/db/database.ts";
import { readBatchId } from "../../../src/inference/batches/batch-id.ts";
import { type ScriptedProvider, USAGE } from "../inference/scripted-provider.ts";
import type { RouterStack } from "../router.ts";
import type { Seeded } from "../seed.ts";
import { until } from "../until.ts";

/** The only model of `offerBatchModel`, and what a line costs that is answered normally, neuron. */
export const BATCH_MODEL = "batch-model";
export const LINE_COST = BigInt(USAGE.prompt_tokens) * 2n + BigInt(USAGE.completion_tokens) * 3n;

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

/** Writes a PROVIDERS_FILE in which this provider offers `BATCH_MODEL`. Returns its path. */
export function offerBatchModel(folder: string, { url }: Pick<ScriptedProvider, "url">): string {
  const models = [{ id: BATCH_MODEL, pricing: { prompt: "2", completion: "3" } }];
  const path = join(folder, "providers.json");
  writeFileSync(path, JSON.stringify({ providers: [{ name: "one", url, models }] }));
  return path;
}

/** How the requests of an account have ended, how many did, and their charges in all, neuron. */
export function outcomesOf(
  queries: Queries,
  account: string,
): Promise<readonly { readonly outcome: string; readonly requests: number; readonly cost: string }[]> {
  return queries.rows(OUTCOMES, [account]);
}

/** What is left of an account's deposit, and what of it is held, neuron. */
export async function leftOf(
  queries: Queries,
  account: string,
): Promise<{ readonly deposit: string; readonly held: string } | undefined> {
  const [left] = await queries.rows<{ deposit: string; held: string }>(LEFT, [account]);
  return left;
}

/** How many lines of a batch have begun, whose id is as clients see it. Its lines are forgotten a while after its end. */
export async function linesBegun(queries: Queries, id: string): Promise<number> {
  const [row] = await queries.rows<{ count: number }>(BEGUN, [readBatchId(id)]);
  return row?.count ?? 0;
}

const BEGUN = "select count(*)::int as count from batch_line where batch_id = $1::uuid and attempts > 0";

const OUTCOMES = `
  select coalesce(error_code, status) as outcome, count(*)::int as requests, sum(total_cost)::text as cost
  from inference_request where account = $1::text group by 1 order by 1`;

const LEFT = "select deposit::text as deposit, held::text as held from account where address = $1::text";
