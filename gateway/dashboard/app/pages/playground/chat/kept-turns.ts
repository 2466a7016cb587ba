import * as z from "zod/mini";
import { readOwn, writeOwn } from "../../../data/session/own-storage.ts";
import { MAX_COLUMNS, MAX_TURNS, type Turn, toKept } from "./conversation.ts";

const NAME = "conversation";

const bill = z.object({
  requestId: z.string(),
  provider: z.string(),
  cost: z.optional(z.string().check(z.regex(/^\d{1,40}$/))),
  isVerified: z.optional(z.boolean()),
  verdict: z.optional(z.string()),
});
const failure = z.object({
  code: z.string(),
  message: z.string(),
  param: z.optional(z.string()),
  requestId: z.optional(z.string()),
  retryAt: z.optional(z.number()),
});
const answer = z.object({
  kind: z.literal("answer"),
  model: z.string(),
  state: z.enum(["complete", "stopped", "failed"]),
  text: z.string(),
  reasoning: z.string(),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string(), argumentsJson: z.string() })),
  failure: z.optional(failure),
  bill: z.optional(bill),
  requestId: z.optional(z.string()),
  inputTokens: z.optional(z.number()),
  outputTokens: z.optional(z.number()),
  firstTokenMs: z.optional(z.number()),
  totalMs: z.optional(z.number()),
});
const results = z.object({
  kind: z.literal("results"),
  results: z.array(z.object({ id: z.string(), name: z.string(), content: z.string() })),
});
const turn = z.object({
  id: z.string(),
  text: z.string(),
  images: z.array(z.string().check(z.startsWith("data:image/"))),
  columns: z.array(z.array(z.discriminatedUnion("kind", [answer, results]))).check(z.maxLength(MAX_COLUMNS)),
});
const schema = z.array(turn).check(z.maxLength(MAX_TURNS));

/** The conversation that this browser kept for an account; empty if there is none, or an older version kept it. */
export function readTurns(address: string): readonly Turn[] {
  return z.safeParse(schema, readOwn("local", address, NAME)).data ?? [];
}

/** Keeps a conversation, as far as it fits; an empty one is dropped. */
export function keepTurns(address: string, turns: readonly Turn[]): void {
  writeOwn("local", address, NAME, turns.length > 0 ? toKept(turns) : undefined);
}
