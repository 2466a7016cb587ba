import type { Bill } from "../api/bill.ts";
import type { Failure } from "../api/failure.ts";

/** A call of a tool by a model. */
export type ToolCall = { readonly id: string; readonly name: string; readonly argumentsJson: string };

/** What a model answered, as far as it has arrived. */
export type Answer = {
  readonly kind: "answer";
  readonly model: string;
  readonly state: "coming" | "complete" | "stopped" | "failed";
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  readonly failure?: Failure | undefined;
  readonly bill?: Bill | undefined;
  /** Known before the bill, which an answer that was interrupted does not have. */
  readonly requestId?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  /** From sending until the first token, and until the end, as this browser measured them. */
  readonly firstTokenMs?: number | undefined;
  readonly totalMs?: number | undefined;
};

/** Results of the tools that the answer before it called, as the user entered them. */
export type ToolResults = {
  readonly kind: "results";
  readonly results: readonly { readonly id: string; readonly name: string; readonly content: string }[];
};
export type Reply = Answer | ToolResults;

/** A question, and what each column replied: columns are beside each other, a model each. */
export type Turn = {
  readonly id: string;
  readonly text: string;
  /** Images as data URLs. */
  readonly images: readonly string[];
  readonly columns: readonly (readonly Reply[])[];
};

export const MAX_COLUMNS = 4;
export const MAX_TURNS = 100;
/** What is kept in the browser, in characters of JSON: its storage has 5 million for the whole site. */
const MAX_KEPT = 1_500_000;

/** A message in OpenAI's format. */
type Message = Readonly<Record<string, unknown>>;

/**
 * The messages of a column in OpenAI's format. For an earlier question that the column did not answer, because its model
 * was added later, the answers of the first column stand in. Answers that failed before their first token are left out, and so
 * are calls of tools without results, as of an answer that was stopped: providers refuse a conversation with them.
 */
export function messagesOf(turns: readonly Turn[], column: number): readonly Message[] {
  return turns.flatMap(({ text, images, columns }, n) => {
    const own = columns[column] ?? [];
    const isLast = n === turns.length - 1;
    const replies = own.length > 0 || isLast ? own : (columns[0] ?? []);
    return [
      questionOf(text, images),
      ...replies.flatMap((reply, at) => toMessages(reply, replies[at + 1]?.kind === "results")),
    ];
  });
}

function questionOf(text: string, images: readonly string[]): Message {
  if (images.length === 0) return { role: "user", content: text };
  const parts = images.map((url) => ({ type: "image_url", image_url: { url } }));
  return { role: "user", content: [...(text === "" ? [] : [{ type: "text", text }]), ...parts] };
}

function toMessages(reply: Reply, hasResults: boolean): readonly Message[] {
  if (reply.kind === "results")
    return reply.results.map(({ id, content }) => ({ role: "tool", tool_call_id: id, content }));
  const { text, toolCalls } = reply;
  if (toolCalls.length === 0 || !hasResults) return text === "" ? [] : [{ role: "assistant", content: text }];
  const calls = toolCalls.map(({ id, name, argumentsJson }) => ({
    id,
    type: "function",
    function: { name, arguments: argumentsJson },
  }));
  return [{ role: "assistant", content: text === "" ? null : text, tool_calls: calls }];
}

/** The calls of a column that wait for results: those of its last answer. */
export function openCalls(replies: readonly Reply[]): readonly ToolCall[] {
  const last = replies.at(-1);
  return last?.kind === "answer" && last.state === "complete" ? last.toolCalls : [];
}

/** The turns with one reply changed: the last one of a column. */
export function withLastReply(
  turns: readonly Turn[],
  id: string,
  column: number,
  change: (reply: Reply) => Reply,
): readonly Turn[] {
  return withColumn(turns, id, column, (replies) =>
    replies.map((reply, n) => (n === replies.length - 1 ? change(reply) : reply)),
  );
}

/** The turns with one column of one turn changed. */
export function withColumn(
  turns: readonly Turn[],
  id: string,
  column: number,
  change: (replies: readonly Reply[]) => readonly Reply[],
): readonly Turn[] {
  return turns.map((turn) => {
    if (turn.id !== id) return turn;
    const length = Math.max(turn.columns.length, column + 1);
    const columns = Array.from({ length }, (_, n) => turn.columns[n] ?? []);
    columns[column] = change(columns[column] ?? []);
    return { ...turn, columns };
  });
}

/**
 * What is kept of a conversation: as many of the newest turns as fit, without their images where those do not fit. An
 * answer that was still coming is kept as stopped.
 */
export function toKept(turns: readonly Turn[]): readonly Turn[] {
  const kept: Turn[] = [];
  let room = MAX_KEPT;
  for (const turn of turns.slice(-MAX_TURNS).toReversed()) {
    const ended = { ...turn, columns: turn.columns.map((replies) => replies.map(toEnded)) };
    const fitting = [ended, { ...ended, images: [] }].find((one) => JSON.stringify(one).length <= room);
    if (!fitting) break;
    room -= JSON.stringify(fitting).length;
    kept.unshift(fitting);
  }
  return kept;
}

function toEnded(reply: Reply): Reply {
  return reply.kind === "answer" && reply.state === "coming" ? { ...reply, state: "stopped" } : reply;
}
