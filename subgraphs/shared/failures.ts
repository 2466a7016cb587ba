import { GraphQLError } from "graphql";
import { AppError } from "../../src/kernel/errors.ts";
import { unstorableOf } from "../../src/kernel/unstorable-text.ts";
import { faultIn, type InputFault } from "./input-faults.ts";

/** The message that clients see for an unexpected failure. */
const INTERNAL_MESSAGE = "Something went wrong on our side.";

/**
 * A failure as a GraphQL error with the REST `code`. An AppError is shown with the names of `args`, the arguments of
 * the field that failed (`retryAfter` in seconds); anything else is a bug whose text is not sent: the log finds it in
 * `originalError`.
 */
export function toGraphFailure(reason: unknown, args?: Arguments): GraphQLError {
  if (reason instanceof GraphQLError) return reason;
  const known = unstorableOf(reason);
  const cause = known instanceof Error ? known : new Error(String(known));
  if (!(cause instanceof AppError)) {
    return new GraphQLError(INTERNAL_MESSAGE, {
      originalError: cause,
      extensions: { code: "internal_error" },
    });
  }
  return toGraphError(cause, faultIn(args && inputOf(args), cause));
}

/**
 * A failure of an HTTP request before its operation runs, as a GraphQL error. It is about a header or the body, which
 * no input has: both keep the names that they have in HTTP.
 */
export function toRequestFailure(failure: AppError): GraphQLError {
  return toGraphError(failure, { field: failure.param, message: failure.message });
}

function toGraphError(failure: AppError, { field, message }: InputFault): GraphQLError {
  const { code, retryAfterSeconds: retryAfter } = failure;
  return new GraphQLError(message, {
    originalError: failure,
    extensions: {
      code,
      ...(field !== null && { param: field }),
      ...(retryAfter !== undefined && { retryAfter }),
    },
  });
}

type Arguments = { readonly input?: unknown };

/** Members of `input` are named within it, as in a mutation's `userErrors`. */
function inputOf(args: Arguments): object {
  return typeof args.input === "object" && args.input !== null ? args.input : args;
}

/** What a field is resolved with: its parent, its arguments and the rest. */
type Call = readonly [parent: unknown, args: Arguments, ...rest: readonly unknown[]];

/** Resolves a field, or opens the source of a subscription. */
export type Resolve = (...call: Call) => unknown;

/** Wraps a resolver, so that what it throws or rejects with becomes a GraphQL error. */
export function guard(resolve: Resolve): Resolve {
  return (...call) => attempt(() => resolve(...call), call[1]);
}

function attempt(run: () => unknown, args?: Arguments): unknown {
  try {
    const result = run();
    if (!(result instanceof Promise)) return guardItems(result, args);
    return result.then(
      (value) => guardItems(value, args),
      (reason) => fail(reason, args),
    );
  } catch (reason) {
    return fail(reason, args);
  }
}

/** The items of a list fail one by one, if they are promises. */
function guardItems(value: unknown, args?: Arguments): unknown {
  if (!Array.isArray(value) || !value.some((item) => item instanceof Promise)) return value;
  return value.map((item) => attempt(() => item, args));
}

/**
 * Wraps an entity lookup: a failure rejects for that entity only, since a synchronous throw would fail all entities.
 */
export function guardReference<A extends readonly unknown[]>(
  find: (...args: A) => unknown,
): (...args: A) => Promise<unknown> {
  return async (...args) => attempt(() => find(...args));
}

/** Wraps a subscription's source: opening it may fail, and so may each of its events. */
export function guardSource(subscribe: (...call: Call) => unknown): (...call: Call) => Promise<unknown> {
  const open = guard(subscribe);
  return async (...call) => {
    const source = await open(...call);
    return isIterable(source) ? guardIterator(source[Symbol.asyncIterator](), call[1]) : source;
  };
}

function guardIterator(source: AsyncIterator<unknown>, args: Arguments): AsyncIterableIterator<unknown> {
  return {
    next: () => source.next().catch((reason) => fail(reason, args)),
    return: () => source.return?.() ?? Promise.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function fail(reason: unknown, args?: Arguments): never {
  throw toGraphFailure(reason, args);
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
