import { answerCall, type CallContext, failed, idOf } from "./call.ts";
import { RpcError, SERVER_ERROR } from "./rpc-error.ts";

/** The maximum size of all answers of a batch: later calls are refused. */
const MAX_ANSWER_BYTES = 32 * 1_048_576;
/** Answers are sent when they reach this size together. */
const PIECE_BYTES = 65_536;
const [BEGINNING, COMMA, END] = [Buffer.from("["), Buffer.from(","), Buffer.from("]")] as const;

/**
 * The answer to a batch, in pieces: a call is run when the answers before it were read; after the client disconnected
 * no call is. A batch of notifications only has no pieces.
 */
export class BatchAnswers implements AsyncIterator<Buffer> {
  readonly #context: CallContext;
  readonly #calls: readonly unknown[];
  #at = 0;
  #sizeBytes = 0;
  #isEnded = false;

  constructor(context: CallContext, calls: readonly unknown[]) {
    this.#context = context;
    this.#calls = calls;
  }

  /** Whether every piece was read. */
  get isComplete(): boolean {
    return this.#isEnded;
  }

  async next(): Promise<IteratorResult<Buffer>> {
    const pieces: Buffer[] = [];
    let pieceBytes = 0;
    while (!this.#isEnded && pieceBytes < PIECE_BYTES) {
      if (this.#at === this.#calls.length || this.#context.signal.aborted) {
        this.#isEnded = true;
        if (this.#sizeBytes > 0) pieces.push(END);
        continue;
      }
      const answer = await this.#answer(this.#calls[this.#at++]);
      if (answer === undefined) continue;
      pieces.push(this.#sizeBytes === 0 ? BEGINNING : COMMA, answer);
      pieceBytes += answer.length;
      this.#sizeBytes += answer.length;
    }
    if (pieces.length === 0) return { done: true, value: undefined };
    return { done: false, value: Buffer.concat(pieces) };
  }

  async return(): Promise<IteratorResult<Buffer>> {
    this.#isEnded = true;
    return { done: true, value: undefined };
  }

  /** The same pieces, preceded by one that was already read. */
  startingWith(first: Buffer): AsyncIterator<Buffer> {
    let isFirst = true;
    return {
      next: async () => {
        if (!isFirst) return this.next();
        isFirst = false;
        return { done: false, value: first };
      },
      return: () => this.return(),
    };
  }

  #answer(call: unknown): Buffer | Promise<Buffer | undefined> {
    if (this.#sizeBytes <= MAX_ANSWER_BYTES) return answerCall(this.#context, call);
    const tooLarge = new RpcError(SERVER_ERROR, "The answers of this batch are too large");
    return failed(this.#context.app, idOf(call), tooLarge);
  }
}
