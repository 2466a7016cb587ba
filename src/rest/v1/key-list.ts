import { z } from "zod";
import type { Page } from "../../kernel/page.ts";
import { json, listOf } from "../route.ts";

/** The query of a list of keys: status, limit and cursor. */
export function keyListQuery<const Statuses extends readonly string[]>(statuses: Statuses) {
  return z.strictObject({
    status: z.enum([...statuses, "all"]).default("all"),
    limit: z.coerce.number().int().min(1).max(100).default(100),
    cursor: z.string().optional(),
  });
}

/** The response schema of a list of keys. */
export function keyListAnswer<Item extends z.ZodType>(item: Item) {
  return { json: z.strictObject({ ...listOf(item), next_cursor: z.string().nullable() }) };
}

/** The answer for one page of keys; `next_cursor` is null on the last one. */
export function keyListOf<Key>(
  { rows, hasNextPage }: Page<Key>,
  { view, cursorOf }: { view(key: Key): object; cursorOf(key: Key): string },
) {
  const last = rows.at(-1);
  return json({
    object: "list",
    data: rows.map(view),
    next_cursor: hasNextPage && last !== undefined ? cursorOf(last) : null,
  });
}

/** The response schema of a revocation. */
export const REVOKED_KEY = { json: z.strictObject({ key_id: z.uuid(), message: z.string() }) };
