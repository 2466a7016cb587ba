import { z } from "zod";
import type { Page } from "../../kernel/page.ts";
import { json, listOf } from "../route.ts";

/** What a list of keys may be asked: of which status, how many, and from where on. */
export function keyListQuery<const Statuses extends readonly string[]>(statuses: Statuses) {
  return z.strictObject({
    status: z.enum([...statuses, "all"]).default("all"),
    limit: z.coerce.number().int().min(1).max(100).default(100),
    cursor: z.string().optional(),
  });
}

/** A list of keys as it is answered. */
export function keyListAnswer<Item extends z.ZodType>(item: Item) {
  return { json: z.strictObject({ ...listOf(item), next_cursor: z.string().nullable() }) };
}

/** The answer for one page of keys; `next_cursor` while there are more. */
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

/** What the end of a key is answered with. */
export const REVOKED_KEY = { json: z.strictObject({ key_id: z.uuid(), message: z.string() }) };
