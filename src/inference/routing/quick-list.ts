import { z } from "zod";
import { invalidReason } from "../../kernel/invalid-reason.ts";

/**
 * A list of `item`s whose members are checked by `isItem`, which takes nanoseconds where zod takes microseconds: a body
 * may have tens of thousands. `isItem` must not accept a value that `item` rejects; the first value that it rejects is
 * parsed by `item` for the error message. The items are the client's own objects, not copies.
 */
export function quickList<Item extends z.ZodType>(
  item: Item,
  isItem: (value: unknown) => boolean,
  { min = 0, max }: { readonly min?: number; readonly max: number },
): z.ZodType<readonly z.output<Item>[], readonly z.input<Item>[]> {
  const { $schema: _, ...items } = z.toJSONSchema(item, { io: "input" });
  const some = z.array(z.unknown());
  const list = (min > 0 ? some.min(min) : some)
    .superRefine((values, context) => {
      // As `max` of zod would, whose issue ends the check: in a union, another type would then be reported.
      if (values.length > max)
        return context.addIssue({ code: "custom", message: `must have at most ${max} items` });
      const at = values.findIndex((value) => !isItem(value));
      if (at < 0) return;
      for (const { path, message } of issuesOf(item, values[at]))
        context.addIssue({ code: "custom", path: [at, ...path], message });
    })
    .meta({ items, maxItems: max });
  return list as unknown as z.ZodType<readonly z.output<Item>[], readonly z.input<Item>[]>;
}

/** Whether a value is an object whose member `name` is a string. */
export function hasText(value: unknown, name: string): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return typeof (value as Readonly<Record<string, unknown>>)[name] === "string";
}

function issuesOf(item: z.ZodType, value: unknown) {
  return item.safeParse(value, { error: invalidReason }).error?.issues ?? [];
}
