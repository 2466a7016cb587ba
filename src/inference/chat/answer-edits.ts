import { concatInTurns } from "../../kernel/async/concat-in-turns.ts";
import type { CacheUse } from "../answer-cache/cache-request.ts";
import type { ShownCost } from "../billing/shown-cost.ts";
import type { Trace } from "../billing/trace.ts";
import { costEdits, costSlots, usageWithCost } from "../body/cost-edits.ts";
import { type Edit, editedPieces, memberEdits, partEdits, repeated } from "../body/json-member.ts";
import { withFields } from "../body/request-fields.ts";
import { traceEdits } from "../body/trace-edits.ts";
import type { ProviderAnswer } from "../providers/exchange/provider-answer.ts";
import { reasoningEdits } from "./reasoning-edits.ts";

/** Changes to a provider's whole answer before the client receives it. */
export type AnswerChanges = {
  /** Members of the answer to set. */
  readonly members: {
    /** The model as the client named it. */
    readonly model?: string | undefined;
    /** The ids of kept responses as the client knows them. */
    readonly id?: string | undefined;
    readonly previous_response_id?: string | undefined;
    /** The billed usage, where the provider's own is not what is billed. */
    readonly usage?: object | undefined;
  };
  /** Whether to show the cost in `usage`, if the answer has one. */
  readonly showsCost?: boolean;
  /** Whether to add the reasoning of choices as `reasoning_content`. */
  readonly lacksReasoning?: boolean;
};

/** Whether anything is changed. */
export function isChanged({ members, showsCost, lacksReasoning }: AnswerChanges): boolean {
  return (
    showsCost === true ||
    lacksReasoning === true ||
    Object.values(members).some((value) => value !== undefined)
  );
}

/**
 * The edits that apply these changes to a valid JSON answer, and remove a bill that is not the router's. Throws what
 * `memberEdits` throws.
 */
export function answerEdits(body: Buffer, changes: AnswerChanges): readonly Edit[] {
  const { usage: _, ...names } = changes.members;
  const given = Object.entries(names).filter(([, name]) => name !== undefined);
  return [
    ...(given.length > 0 ? memberEdits(body, Object.fromEntries(given)) : []),
    ...usageEdits(body, changes),
    ...traceEdits(body),
    ...(changes.lacksReasoning ? reasoningEdits(body) : []),
  ];
}

function usageEdits(body: Buffer, { members: { usage }, showsCost }: AnswerChanges): readonly Edit[] {
  if (usage !== undefined)
    return showsCost ? partEdits(body, "usage", usageWithCost(usage)) : memberEdits(body, { usage });
  const edits = showsCost ? costEdits(body) : [];
  if (!edits) throw repeated();
  return edits;
}

/** A whole answer for the client, and its bill. */
export type ShownAnswer = {
  readonly body: Buffer;
  /** The provider's key of its signature of the answer. */
  readonly responseKey: string | undefined;
  readonly trace: Trace;
  /** What came of the client's cache request; absent without one. */
  readonly cache?: CacheUse | undefined;
};

/**
 * A whole answer for the client: the provider's own bytes with these edits and the cost, or their translation, with the
 * bill appended.
 */
export function shownBody(
  answer: Pick<ProviderAnswer, "body">,
  { edits = [], body = answer.body }: { readonly edits?: readonly Edit[]; readonly body?: Buffer },
  trace: Trace,
  cost: ShownCost,
): Promise<Buffer> {
  const { end, pieces } = editedPieces(body, edits, costSlots(cost));
  return concatInTurns([...pieces, ...withFields(end, { x_0g_trace: trace })]);
}
