import * as z from "zod/mini";

/** Where a list is read: after or before a cursor, or from its start. */
export type Position = { readonly after?: string | undefined; readonly before?: string | undefined };

/** A search parameter: what the schema does not accept is ignored, as if it were not there. */
export function parameter<Value>(schema: z.ZodMiniType<Value>) {
  return z.catch(z.optional(schema), undefined);
}

/** The time of a search parameter as an input for local times shows it, in this computer's time zone. */
export function localTime() {
  return parameter(
    z.string().check(
      z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d/),
      z.refine((time) => !Number.isNaN(Date.parse(time))),
    ),
  );
}

const cursor = z.string().check(z.maxLength(2_048));

/**
 * The search parameters of a page with a list. A page adds its filters:
 * `z.extend(listSearch, { model: parameter(z.string()) })`, with `z` of zod/mini, which the first page loads.
 */
export const listSearch = z.object({
  after: parameter(cursor),
  before: parameter(cursor),
  /** A field of the list's order, with `-` before it for descending, such as `-COST`. */
  sort: parameter(z.string().check(z.regex(/^-?[A-Z_]{1,32}$/))),
});
