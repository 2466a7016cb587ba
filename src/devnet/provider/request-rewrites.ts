/**
 * The changes that brokers make to a chat request before they forward it (facts: evidence 1): they ask for the usage of a
 * stream, name the model or adapter that they serve, translate the limit and the reasoning effort for their server, and
 * set or remove fields by their operator's rules.
 */
export const REWRITES = {
  usage: (body) => ({ ...body, stream_options: { include_usage: true } }),
  model: (body) => ({ ...body, model: `served/${String(body.model)}` }),
  limit: ({ max_tokens: limit, ...body }) => ({ ...body, max_completion_tokens: limit ?? 1 }),
  reasoning: ({ reasoning_effort: effort, ...body }) => ({
    ...body,
    chat_template_kwargs: { enable_thinking: effort !== undefined },
  }),
  operator: ({ user: _, ...body }) => ({ ...body, safety_identifier: "operator" }),
} as const satisfies Readonly<Record<string, (body: Fields) => Fields>>;
export type Rewrite = keyof typeof REWRITES;

type Fields = Readonly<Record<string, unknown>>;

/** The request as it is forwarded: each rewrite in order, with sorted members as Go marshals them. */
export function rewritten(request: Buffer, rewrites: readonly Rewrite[]): Buffer {
  if (rewrites.length === 0) return request;
  const body = rewrites.reduce<Fields>((known, name) => REWRITES[name](known), JSON.parse(`${request}`));
  return Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(body).sort(byName))));
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
