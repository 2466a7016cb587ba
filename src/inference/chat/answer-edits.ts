import type { Trace } from "../billing/admitted.ts";
import { type Edit, memberEdits, withEdits } from "../body/json-member.ts";
import { appendFields } from "../body/request-fields.ts";
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

/** A whole answer for the client: the provider's own bytes with these edits, and the bill appended. */
export function shownAnswer(
  body: Buffer,
  { edits = [] }: { readonly edits?: readonly Edit[] },
  trace: Trace,
): Buffer {
  return appendFields(withEdits(body, edits), { x_0g_trace: trace });
}
