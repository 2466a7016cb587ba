import type { Fields } from "../body/fields.ts";
import type { Piece } from "./delivered-text.ts";

/** The members of a delta that are text another provider could repeat. */
const TEXTS: ReadonlySet<string> = new Set(["content", "reasoning_content", "reasoning", "refusal"]);

/**
 * The pieces of a chat chunk, choice by choice: texts and finish reasons. Undefined if it contains something that
 * cannot be repeated: tool calls, which have unique ids, audio, log probabilities, or unknown members.
 */
export function chunkPieces(choices: readonly unknown[]): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  for (const choice of choices) {
    const { index = 0, delta, text, logprobs, finish_reason: reason } = fieldsOf(choice);
    if (isPresent(logprobs)) return undefined;
    if (hasOwnText(choice)) pieces.push({ channel: `${index} text`, text: String(text) });
    for (const [name, value] of Object.entries(fieldsOf(delta))) {
      if (name === "role" || !isPresent(value)) continue;
      if (!TEXTS.has(name) || typeof value !== "string") return undefined;
      pieces.push({ channel: `${index} ${name}`, text: value });
    }
    if (typeof reason === "string") pieces.push({ channel: `${index} finish_reason`, text: reason });
  }
  return pieces;
}

/** The choices of a chunk with the pieces that `chunkPieces` found replaced by these texts, in the same order. */
export function renderChoices(choices: readonly unknown[], texts: readonly string[]): readonly unknown[] {
  let at = 0;
  return choices.map((choice) => {
    const fields = fieldsOf(choice);
    const text = hasOwnText(choice) ? { text: texts[at++] } : {};
    const delta = Object.fromEntries(
      Object.entries(fieldsOf(fields.delta)).map(([name, value]) => {
        const isPiece = name !== "role" && isPresent(value);
        return [name, isPiece ? texts[at++] : value];
      }),
    );
    const hasReason = typeof fields.finish_reason === "string";
    const changed = fields.delta === undefined ? text : { ...text, delta };
    return { ...fields, ...changed, ...(hasReason && { finish_reason: texts[at++] || null }) };
  });
}

/** Whether a choice is one of a text completion, with text. */
function hasOwnText(choice: unknown): boolean {
  const { delta, text } = fieldsOf(choice);
  return delta === undefined && typeof text === "string" && text !== "";
}

function isPresent(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return false;
  return !Array.isArray(value) || value.length > 0;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
