import { concatPieces, type Piece } from "../../../kernel/concat-pieces.ts";
import { AppError } from "../../../kernel/errors.ts";
import type { ShownCost } from "../../billing/shown-cost.ts";
import type { Trace } from "../../billing/trace.ts";
import { costSlots } from "../../body/cost-edits.ts";
import { editedPieces, type Range, valuesOf } from "../../body/json-member.ts";
import { withFields } from "../../body/request-fields.ts";
import { type AnswerChanges, answerEdits } from "../../chat/answer-edits.ts";

/** What the client sees differently in the response of an event. */
export type ResponseChanges = {
  readonly members: AnswerChanges["members"];
  /** The bill, in the last event. */
  readonly bill?: { readonly trace: Trace; readonly cost: ShownCost } | undefined;
};

/**
 * The data of an event with these changes to its member `response`, an object; all other bytes stay unchanged. Undefined
 * if members are repeated, so that it is not clear which ones a client reads.
 */
export function withResponse(data: string, { members, bill }: ResponseChanges): string | undefined {
  const event = Buffer.from(data);
  const [place, ...others] = valuesOf(event, "response");
  if (!place || others.length > 0) return undefined;
  const response = event.subarray(place.start, place.end);
  const changed = changedObject(response, { members, bill });
  return changed && spliced(event, place, changed).toString();
}

function changedObject(object: Buffer, { members, bill }: ResponseChanges): readonly Piece[] | undefined {
  try {
    const edits = answerEdits(object, { members, showsCost: bill !== undefined });
    const { pieces, end } = editedPieces(object, edits, bill && costSlots(bill.cost));
    return [...pieces, ...(bill ? withFields(end, { x_0g_trace: bill.trace }) : [end])];
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function spliced(json: Buffer, { start, end }: Range, pieces: readonly Piece[]): Buffer {
  return concatPieces([json.subarray(0, start), ...pieces, json.subarray(end)]);
}
