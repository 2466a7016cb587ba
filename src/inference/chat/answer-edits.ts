import { concatInTurns } from "../../kernel/async/concat-in-turns.ts";
import type { Trace } from "../billing/admitted.ts";
import { type Edit, editedPieces, memberEdits } from "../body/json-member.ts";
import { withFields } from "../body/request-fields.ts";
import type { ProviderAnswer } from "../providers/provider-answer.ts";
import { reasoningEdits } from "./reasoning-edits.ts";

/** Changes to a provider's whole answer before the client receives it. */
export type AnswerChanges = {
  /** Members of the answer to set. */
  readonly members: {
    /** The model as the client named it. */
    readonly model?: string | undefined;
    /** The billed usage. */
    readonly usage?: object | undefined;
  };
  /** Whether to add the reasoning of choices as `reasoning_content`. */
  readonly lacksReasoning?: boolean;
};

/** Whether anything is changed. */
export function isChanged({ members, lacksReasoning }: AnswerChanges): boolean {
  return lacksReasoning === true || Object.values(members).some((value) => value !== undefined);
}

/** The edits that apply these changes to a valid JSON answer. Throws what `memberEdits` throws. */
export function answerEdits(body: Buffer, { members, lacksReasoning }: AnswerChanges): readonly Edit[] {
  const set = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  return [...memberEdits(body, set), ...(lacksReasoning ? reasoningEdits(body) : [])];
}

/** A whole answer for the client, and its bill. */
export type ShownAnswer = {
  readonly body: Buffer;
  /** The provider's key of its signature of the answer. */
  readonly responseKey: string | undefined;
  readonly trace: Trace;
};

/**
 * A whole answer for the client: the provider's own bytes with these edits, or their translation, with the bill
 * appended.
 */
export function shownBody(
  answer: Pick<ProviderAnswer, "body">,
  { edits = [], body = answer.body }: { readonly edits?: readonly Edit[]; readonly body?: Buffer },
  trace: Trace,
): Promise<Buffer> {
  const pieces = editedPieces(body, edits);
  const end = pieces.at(-1) ?? body;
  return concatInTurns([...pieces.slice(0, -1), ...withFields(end, { x_0g_trace: trace })]);
}
