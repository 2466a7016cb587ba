import { type ExecutionResult, GraphQLError } from "graphql";
import { closeSource, DONE, ReleasingIterator } from "../../src/kernel/async/releasing-iterator.ts";
import { AppError } from "../../src/kernel/errors.ts";

type Results = AsyncIterableIterator<ExecutionResult>;

/**
 * A subscription that ends when the credential that opened it ends; its last result is the error that says so.
 * `watch` takes a callback and returns a function that unregisters it; the source's `return()` must end it at once.
 * `taken` is called when the next result is requested, which means the previous one was sent.
 */
export class WatchedStream extends ReleasingIterator<ExecutionResult> {
  readonly #source: Results;
  readonly #stopWatching: () => void;
  readonly #taken: () => void;
  #why: AppError | undefined;

  constructor(
    source: Results,
    given: { readonly watch: (ended: (why: AppError) => void) => () => void; readonly taken: () => void },
  ) {
    super();
    this.#source = source;
    this.#taken = given.taken;
    this.#stopWatching = given.watch((why) => {
      this.#why = why;
      closeSource(source);
    });
  }

  async next(): Promise<IteratorResult<ExecutionResult>> {
    this.#taken();
    const result = this.#why ? DONE : await this.#source.next().catch((error: unknown) => this.#lose(error));
    if (!result.done) return result;
    this.#stopWatching();
    const why = this.#why;
    this.#why = undefined;
    return why ? { done: false, value: failure(why) } : result;
  }

  protected release(): void {
    this.#stopWatching();
    this.#why = undefined;
    closeSource(this.#source);
  }

  #lose(error: unknown): never {
    this.#stopWatching();
    throw error instanceof AppError ? toGraphQL(error) : error;
  }
}

function failure(why: AppError): ExecutionResult {
  return { errors: [toGraphQL(why)] };
}

function toGraphQL({ message, code }: AppError): GraphQLError {
  return new GraphQLError(message, { extensions: { code } });
}
