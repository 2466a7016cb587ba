import { z } from "zod";
import type { Page, PageRequest } from "../../kernel/page.ts";
import { plainDecimal } from "../../kernel/text/amount.ts";
import { withAtMost } from "../../kernel/text/characters.ts";
import type { Guardrails } from "../../keys/api-keys/guardrails.ts";
import { type Key, type KeyKind, keyCursor } from "../../keys/shared/key.ts";
import type { Answer } from "../http/answer.ts";
import { integerParameter } from "../integer-parameter.ts";
import { json, listOf } from "../route.ts";
import { count } from "../wire.ts";

/** The name of a key in a request body. */
export const keyName = withAtMost(z.string().trim().min(1), 100);

const amount = z.string().regex(/^(0|[1-9]\d{0,58})(\.\d{1,18})?$/, "must be tokens such as 0.05");
/** An amount in neuron has less than 2^256. */
const NUMBER_LIMIT = 1e59;
/** An amount of tokens in a request body: as decimal text, or as a number. */
export const tokens = z.union([
  amount,
  z.number().min(0).lt(NUMBER_LIMIT).transform(plainDecimal).pipe(amount),
]);

/** The query of a list of keys: status, limit and cursor. */
export function keyListQuery<const Statuses extends readonly string[]>(statuses: Statuses) {
  return z.strictObject({
    status: z.enum([...statuses, "all"]).default("all"),
    limit: integerParameter(1, 100, 100),
    cursor: z.string().optional().meta({ minLength: 1 }),
  });
}

/** The response schema of a list of keys. */
export function keyListAnswer<Item extends z.ZodType>(item: Item) {
  return { json: z.strictObject({ ...listOf(item), next_cursor: z.string().nullable() }) };
}

type KeyListQuery<Status> = {
  readonly status: Status | "all";
  readonly limit: number;
  readonly cursor?: string | undefined;
};

/** Answers the page of keys of a kind that `list` finds for a query; `next_cursor` is null on the last page. */
export async function answerKeyList<Listed extends Key, Status extends string>(
  kind: KeyKind,
  { status, limit, cursor }: KeyListQuery<Status>,
  list: (page: PageRequest, statuses: readonly Status[] | undefined) => Promise<Page<Listed>>,
  view: (key: Listed) => object,
): Promise<Answer> {
  const wanted = status === "all" ? undefined : [status];
  const { rows, hasNextPage } = await list({ first: limit, after: cursor }, wanted);
  const last = rows.at(-1);
  return json({
    object: "list",
    data: rows.map(view),
    next_cursor: hasNextPage && last ? keyCursor(kind, last) : null,
  });
}

/** The response schema of a revocation. */
export const REVOKED_KEY = { json: z.strictObject({ key_id: z.uuid(), message: z.string() }) };

/** The response schema of an `sk-` key's guardrails. */
export const GUARDRAILS = {
  max_input_tokens: count
    .nullable()
    .meta({ description: "The maximum number of prompt tokens. Null for no limit." }),
  max_input_bytes: count
    .nullable()
    .meta({ description: "The maximum size of a request's body, in bytes. Null for no limit." }),
  max_output_tokens: count.nullable().meta({
    description:
      "The maximum number of output tokens of a request, over all of its answers. Null for no limit.",
  }),
  allowed_tools: z.array(z.string()).meta({
    description: "The names of the tools that a request may offer to the model. An empty list allows all.",
  }),
  blocked_parameters: z.array(z.string()).meta({
    description: "The fields that the body of a request may not contain.",
  }),
  verify_tee: z.boolean().meta({ description: "Whether the signature of every answer is verified." }),
};

/** The guardrails of a key, as in `GUARDRAILS`. */
export function viewGuardrails(key: Guardrails) {
  return {
    max_input_tokens: key.maxInputTokens,
    max_input_bytes: key.maxInputBytes,
    max_output_tokens: key.maxOutputTokens,
    allowed_tools: key.allowedTools,
    blocked_parameters: key.blockedParameters,
    verify_tee: key.verifyTee,
  };
}
