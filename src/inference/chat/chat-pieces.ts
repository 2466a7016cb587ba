import type { Piece } from "./delivered-text.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What of a delta is text that another provider can say as well. */
const TEXTS: ReadonlySet<string> = new Set(["content", "reasoning_content", "reasoning", "refusal"]);

/**
 * What a chunk of a chat says, choice by choice: texts, and the reason to end. Undefined for what is said only once:
 * calls of tools, which have ids of their own, sounds, probabilities, and members that are not known here.
 */
export function chunkPieces(choices: readonly unknown[]): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  for (const choice of choices) {
    const { index = 0, delta, logprobs, finish_reason: reason } = fieldsOf(choice);
    if (isStated(logprobs)) return undefined;
    for (const [name, value] of Object.entries(fieldsOf(delta))) {
      if (name === "role" || !isStated(value)) continue;
      if (!TEXTS.has(name) || typeof value !== "string") return undefined;
      pieces.push({ channel: `${index} ${name}`, text: value });
    }
    if (typeof reason === "string") pieces.push({ channel: `${index} finish_reason`, text: reason });
  }
  return pieces;
}

/** The choices of a chunk, saying these texts in place of the pieces that `chunkPieces` found, in the same order. */
export function renderChoices(choices: readonly unknown[], texts: readonly string[]): readonly unknown[] {
  let at = 0;
  return choices.map((choice) => {
    const fields = fieldsOf(choice);
    const delta = Object.fromEntries(
      Object.entries(fieldsOf(fields.delta)).map(([name, value]) => {
        const isPiece = name !== "role" && isStated(value);
        return [name, isPiece ? texts[at++] : value];
      }),
    );
    const hasReason = typeof fields.finish_reason === "string";
    return { ...fields, delta, ...(hasReason && { finish_reason: texts[at++] || null }) };
  });
}

function isStated(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return false;
  return !Array.isArray(value) || value.length > 0;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
