import type { GraphError } from "./errors.ts";
import type { GraphResult } from "./transport.ts";

/** An event of a subscription. */
export type LiveEvent<T> = {
  /** The data of the result, by root field. */
  readonly data: T;
  /** Errors of fields that are null because of them. */
  readonly errors?: readonly GraphError[];
  /** The event's id, if the document selects it. */
  readonly id: string | undefined;
  /** The event's cursor, if the document selects it. */
  readonly cursor: string | undefined;
};

/** An event, and when it happened. Every event of the graph has its `id`, `cursor` and `at` one level down. */
export function readEvent<T>(result: GraphResult): LiveEvent<T> & { readonly at: string | undefined } {
  const [event] = Object.values(result.data ?? {}) as [Record<string, unknown> | null | undefined];
  const text = (name: string) => (typeof event?.[name] === "string" ? String(event[name]) : undefined);
  return {
    data: result.data as T,
    ...(result.errors && { errors: result.errors }),
    id: text("id"),
    cursor: text("cursor"),
    at: text("at"),
  };
}
