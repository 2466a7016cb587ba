import { eventData } from "./event-scanner.ts";
import { countTokens } from "./tokens.ts";

const FOLD_BYTES = 262_144;

/**
 * Remembers the content that reached a client, so that its tokens can be counted when the provider states no usage.
 * Events are only kept as they are; they are parsed when the count is asked for, or when 256 KiB have gathered.
 */
export class DeliveredContent {
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #tokens = 0;
  #events = 0;

  /** Notes an event of the stream that was written to the client. */
  add(event: Buffer): void {
    this.#events++;
    this.#kept.push(event);
    this.#keptBytes += event.length;
    if (this.#keptBytes > FOLD_BYTES) this.#fold();
  }

  /** Whether anything at all was delivered. */
  get isEmpty(): boolean {
    return this.#events === 0;
  }

  /** Tokens of the delivered content, by the router's own tokenizer. */
  countTokens(): number {
    this.#fold();
    return this.#tokens;
  }

  #fold(): void {
    this.#tokens += countTokens(this.#kept.map(contentOf).join(""));
    this.#kept = [];
    this.#keptBytes = 0;
  }
}

/** The text that one answer object of a chat carries: content, reasoning, and arguments of tool calls. */
export function answerText(choice: unknown): string {
  if (typeof choice !== "object" || choice === null) return "";
  const part = "delta" in choice ? choice.delta : "message" in choice ? choice.message : undefined;
  if (typeof part !== "object" || part === null) return "";
  const { content, reasoning_content, tool_calls } = part as Record<string, unknown>;
  const texts = [reasoning_content, content].filter((text) => typeof text === "string");
  return texts.join("") + (Array.isArray(tool_calls) ? JSON.stringify(tool_calls) : "");
}

function contentOf(event: Buffer): string {
  const data = eventData(event);
  if (data === undefined || !data.startsWith("{")) return "";
  try {
    const { choices } = JSON.parse(data) as { choices?: unknown };
    return Array.isArray(choices) ? choices.map(answerText).join("") : "";
  } catch {
    return "";
  }
}
