import { randomId } from "../../../data/random-id.ts";
import { DrawPace } from "../api/draw-pace.ts";
import { failureOf } from "../api/failure.ts";
import type { ApiRequest } from "../api/request.ts";
import { eventsOf, send } from "../api/send.ts";
import { AnswerReader } from "./answer-reader.ts";
import { type Answer, MAX_TURNS, type Reply, type Turn, withColumn, withLastReply } from "./conversation.ts";
import { keepTurns, readTurns } from "./kept-turns.ts";

/** A request for an answer, once it is known which key pays it. */
type Sending = {
  readonly column: number;
  readonly model: string;
  /** Makes the request from the turns as they are. */
  request(turns: readonly Turn[]): ApiRequest;
  key(): Promise<string>;
};

/** What the conversation is now. */
export type Conversation = { readonly turns: readonly Turn[]; readonly isComing: boolean };

/** The conversation of an account: the questions, and the answers as they arrive. It is kept in this browser. */
export class ConversationStore {
  readonly #address: string;
  readonly #running = new Map<number, AbortController>();
  readonly #listeners = new Set<() => void>();
  #now: Conversation;
  #isLeaving = false;

  constructor(address: string) {
    this.#address = address;
    this.#now = { turns: readTurns(address), isComing: false };
  }

  /** For `useSyncExternalStore`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly current = (): Conversation => this.#now;

  /** Asks a question in every column. Resolves when all have answered or failed. */
  async ask(text: string, images: readonly string[], sendings: readonly Sending[]): Promise<void> {
    if (this.#now.isComing) return;
    const turn: Turn = { id: randomId(), text, images, columns: [] };
    this.#set([...this.#now.turns, turn].slice(-MAX_TURNS));
    await Promise.all(sendings.map((sending) => this.#answer(turn.id, sending)));
  }

  /** Answers the last question again, in one column. */
  async answerAgain(sending: Sending): Promise<void> {
    const last = this.#now.turns.at(-1);
    if (!last || this.#running.has(sending.column)) return;
    this.#set(withColumn(this.#now.turns, last.id, sending.column, () => []));
    await this.#answer(last.id, sending);
  }

  /** Gives a model the results of the tools that it called, and lets it go on. */
  async giveResults(results: Extract<Reply, { kind: "results" }>, sending: Sending): Promise<void> {
    const last = this.#now.turns.at(-1);
    if (!last || this.#running.has(sending.column)) return;
    this.#set(withColumn(this.#now.turns, last.id, sending.column, (replies) => [...replies, results]));
    await this.#answer(last.id, sending);
  }

  /** Takes the last question back, to be edited. */
  takeBack(): Turn | undefined {
    this.stop();
    const last = this.#now.turns.at(-1);
    this.#set(this.#now.turns.slice(0, -1));
    this.#keep();
    return last;
  }

  /** Takes a model away: its answers go, those of the columns after it move up. A question keeps its only answer. */
  removeColumn(column: number): void {
    const without = ({ columns, ...turn }: Turn): Turn => ({
      ...turn,
      columns: columns.length > 1 ? columns.filter((_, n) => n !== column) : columns,
    });
    this.#set(this.#now.turns.map(without));
    this.#keep();
  }

  /** Stops every answer that is coming: what has arrived stays. */
  stop(): void {
    for (const abort of this.#running.values()) abort.abort();
  }

  /** The page is about to be unloaded, which ends requests like a lost network: they are stopped, and have not failed. */
  leave(): void {
    this.#isLeaving = true;
    if (this.#now.isComing) this.#keep();
  }

  /** Forgets the conversation, also in this browser. */
  clear(): void {
    this.stop();
    this.#set([]);
    this.#keep();
  }

  async #answer(id: string, sending: Sending): Promise<void> {
    const { column, model } = sending;
    const request = sending.request(this.#now.turns);
    const abort = new AbortController();
    this.#running.set(column, abort);
    // A new question shows that the page was not left after all.
    this.#isLeaving = false;
    let reader = new AnswerReader(model, performance.now());
    const show = (answer: Answer) => this.#set(withLastReply(this.#now.turns, id, column, () => answer));
    const start = reader.answer("coming", performance.now());
    this.#set(withColumn(this.#now.turns, id, column, (replies) => [...replies, start]));
    try {
      const key = await sending.key();
      reader = new AnswerReader(model, performance.now());
      await this.#read(request, key, reader, abort.signal, show);
      show(reader.answer("complete", performance.now()));
    } catch (error) {
      const now = performance.now();
      if (abort.signal.aborted || (this.#isLeaving && error instanceof TypeError))
        show(reader.answer("stopped", now));
      else show({ ...reader.answer("failed", now), failure: failureOf(error) });
    } finally {
      this.#running.delete(column);
      this.#set(this.#now.turns);
      // Once for all columns: storing a long conversation takes longer than drawing it. `leave` stores it before that.
      if (!this.#now.isComing) this.#keep();
    }
  }

  async #read(
    request: ApiRequest,
    key: string,
    reader: AnswerReader,
    signal: AbortSignal,
    show: (answer: Answer) => void,
  ): Promise<void> {
    const response = await send(request, key, signal);
    reader.begin(response.headers.get("x-request-id"));
    const pace = new DrawPace();
    for await (const event of eventsOf(response)) {
      const now = performance.now();
      reader.read(event, now);
      pace.draw(() => show(reader.answer("coming", now)));
    }
    signal.throwIfAborted();
  }

  #set(turns: readonly Turn[]): void {
    this.#now = { turns, isComing: this.#running.size > 0 };
    for (const listener of this.#listeners) listener();
  }

  #keep(): void {
    keepTurns(this.#address, this.#now.turns);
  }
}
