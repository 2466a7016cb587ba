import { type Fields, fieldsOf } from "../body/fields.ts";
import type { Piece } from "../chat/delivered-text.ts";

/** The member of a block delta that is text another provider could repeat, by delta type. */
const TEXTS: Readonly<Record<string, string>> = { text_delta: "text", thinking_delta: "thinking" };
const BLOCKS: ReadonlySet<unknown> = new Set(["text", "thinking"]);

/**
 * The pieces of an event of an Anthropic message stream, block by block. Undefined for an event that cannot be
 * repeated: tool use, which has unique ids, and signatures.
 */
export function messagePieces(event: Fields): readonly Piece[] | undefined {
  const { type, index } = event;
  if (type === "content_block_start") {
    const block = fieldsOf(event.content_block);
    if (!BLOCKS.has(block.type)) return undefined;
    const text = block[String(block.type)];
    const begin = { channel: `${index} start`, text: String(block.type) };
    return typeof text === "string" && text !== "" ? undefined : [begin];
  }
  if (type === "content_block_delta") {
    const delta = fieldsOf(event.delta);
    const name = TEXTS[String(delta.type)];
    const text = name && delta[name];
    return typeof text === "string" ? [{ channel: `${index} ${name}`, text }] : undefined;
  }
  if (type === "content_block_stop") return [{ channel: `${index} stop`, text: "stop" }];
  if (type !== "message_delta") return [];
  const { stop_reason: reason } = fieldsOf(event.delta);
  return typeof reason === "string" ? [{ channel: "stop_reason", text: reason }] : [];
}

/** The same event with the piece that `messagePieces` found replaced by this text. */
export function renderEvent(event: Fields, text: string): Fields {
  const delta = fieldsOf(event.delta);
  const name = event.type === "content_block_delta" ? TEXTS[String(delta.type)] : undefined;
  return name === undefined ? event : { ...event, delta: { ...delta, [name]: text } };
}
