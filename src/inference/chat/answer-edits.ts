import type { Trace } from "../billing/admitted.ts";
import { type Edit, memberEdits, withEdits } from "../body/json-member.ts";
import { appendFields } from "../body/request-fields.ts";
import { reasoningEdits } from "./reasoning-edits.ts";

/** What a client is shown otherwise than the provider wrote it in a whole answer. */
export type AnswerChanges = {
  /** Members of the answer that are set. */
  readonly members: {
    /** The client's name of the model. */
    readonly model?: string | undefined;
    /** What was billed. */
    readonly usage?: object | undefined;
  };
  /** Whether choices lack their reasoning as `reasoning_content`. */
  readonly lacksReasoning?: boolean;
};

/** Whether anything is changed. */
export function isChanged({ members, lacksReasoning }: AnswerChanges): boolean {
  return lacksReasoning === true || Object.values(members).some((value) => value !== undefined);
}

/** The edits for these changes of an answer that was parsed before. Throws what `memberEdits` throws. */
export function answerEdits(body: Buffer, { members, lacksReasoning }: AnswerChanges): readonly Edit[] {
  const set = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  return [...memberEdits(body, set), ...(lacksReasoning ? reasoningEdits(body) : [])];
}

/** A whole answer as the client gets it: the provider's own bytes with these edits, and the bill appended. */
export function shownAnswer(
  body: Buffer,
  { edits = [] }: { readonly edits?: readonly Edit[] },
  trace: Trace,
): Buffer {
  return appendFields(withEdits(body, edits), { x_0g_trace: trace });
}
