import { GraphQLError } from "graphql";
import { AppError } from "../../src/kernel/errors.ts";
import { unstorableOf } from "../../src/kernel/unstorable-text.ts";

/** The message that clients see for an unexpected failure. */
const INTERNAL_MESSAGE = "Something went wrong on our side.";

/**
 * A failure as a GraphQL error with the REST `code`. An AppError is shown as it is (`retryAfter` in seconds); anything
 * else is a bug whose text is not sent: the log finds it in `originalError`.
 */
export function toGraphFailure(reason: unknown): GraphQLError {
  if (reason instanceof GraphQLError) return reason;
  const known = unstorableOf(reason);
  const cause = known instanceof Error ? known : new Error(String(known));
  if (!(cause instanceof AppError)) {
    return new GraphQLError(INTERNAL_MESSAGE, {
      originalError: cause,
      extensions: { code: "internal_error" },
    });
  }
  const { code, param, message, retryAfterSeconds: retryAfter } = cause;
  return new GraphQLError(message, {
    originalError: cause,
    extensions: {
      code,
      ...(param !== null && { param: toFieldPath(param) }),
      ...(retryAfter !== undefined && { retryAfter }),
    },
  });
}

/** The path within the input: members of requests that are built for REST, and headers, are spelt its way. */
export function toFieldPath(param: string): string {
  const path = param.replace(/[_-]([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return path.replace(/^[A-Z]/, (letter) => letter.toLowerCase());
}

/** Wraps a resolver, so that what it throws or rejects with becomes a GraphQL error. */
export function guard<A extends readonly unknown[]>(
  resolve: (...args: A) => unknown,
): (...args: A) => unknown {
  return (...args) => {
    try {
      const result = resolve(...args);
      return result instanceof Promise ? result.catch(fail) : result;
    } catch (reason) {
      return fail(reason);
    }
  };
}

/**
 * Wraps an entity lookup: a failure rejects for that entity only, since a synchronous throw would fail all entities.
 */
export function guardReference<A extends readonly unknown[]>(
  find: (...args: A) => unknown,
): (...args: A) => Promise<unknown> {
  const guarded = guard(find);
  return async (...args) => guarded(...args);
}

/** Wraps a subscription's source: opening it may fail, and so may each of its events. */
export function guardSource<A extends readonly unknown[]>(
  subscribe: (...args: A) => unknown,
): (...args: A) => Promise<unknown> {
  const open = guard(subscribe);
  return async (...args) => {
    const source = await open(...args);
    return isIterable(source) ? guardIterator(source[Symbol.asyncIterator]()) : source;
  };
}

function guardIterator(source: AsyncIterator<unknown>): AsyncIterableIterator<unknown> {
  return {
    next: () => source.next().catch(fail),
    return: () => source.return?.() ?? Promise.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function fail(reason: unknown): never {
  throw toGraphFailure(reason);
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
