import { AppError } from "../../kernel/errors.ts";
import { isPrintable } from "../../kernel/text/printable.ts";

/** The tags of a request: values by name. Names differ, so a request counts once for each name. */
export type Tags = Readonly<Record<string, string>>;
/** One tag. */
export type Tag = { readonly name: string; readonly value: string };

/** The most tags of one request. */
export const MAX_TAGS = 10;
/** The most bytes of a name and of a value in UTF-8. */
export const MAX_TAG_NAME_BYTES = 64;
export const MAX_TAG_VALUE_BYTES = 512;

/** What is wrong with a tag: with its name or its value, as the end of a sentence about that. */
export type TagFault = { readonly part: keyof Tag; readonly what: string };

/** The first fault of a tag; undefined if it has none. */
export function faultOfTag({ name, value }: Tag): TagFault | undefined {
  if (name === "__proto__") return { part: "name", what: "is not allowed" };
  return faultOf("name", name, MAX_TAG_NAME_BYTES) ?? faultOf("value", value, MAX_TAG_VALUE_BYTES);
}

/** Reads a list of tags. Throws `code`, naming `param`, for one that is malformed, a name twice, or too many. */
export function readTags(
  list: readonly Tag[],
  param: string,
  code: "invalid_body" | "invalid_parameter" = "invalid_parameter",
): Tags | undefined {
  if (list.length === 0) return undefined;
  const refuse = (what: string) => new AppError(code, `${param}: ${what}`, { param });
  if (list.length > MAX_TAGS) throw refuse(`has more than ${MAX_TAGS} tags`);
  for (const tag of list) {
    const fault = faultOfTag(tag);
    if (fault) throw refuse(`the ${fault.part} of a tag ${fault.what}`);
  }
  const tags = Object.fromEntries(list.map(({ name, value }) => [name, value]));
  if (Object.keys(tags).length < list.length) throw refuse("names a tag twice");
  return tags;
}

/**
 * Adds tags of lower precedence, in their order, as far as there is room: those whose name is taken, and those after the
 * tenth, are left out.
 */
export function addTags(tags: Tags | undefined, others: Tags | undefined): Tags | undefined {
  if (!others || !tags) return tags ?? others;
  const room = MAX_TAGS - Object.keys(tags).length;
  const added = Object.entries(others).filter(([name]) => !Object.hasOwn(tags, name));
  return { ...tags, ...Object.fromEntries(added.slice(0, room)) };
}

/** The tags as a list, sorted by name. */
export function listTags(tags: Tags): readonly Tag[] {
  return Object.keys(tags)
    .sort()
    .map((name) => ({ name, value: tags[name] ?? "" }));
}

function faultOf(part: keyof Tag, text: string, maxBytes: number): TagFault | undefined {
  if (text === "") return { part, what: "is empty" };
  if (text.length > maxBytes || Buffer.byteLength(text) > maxBytes)
    return { part, what: `has more than ${maxBytes} bytes` };
  if (!isPrintable(text)) return { part, what: "has a control or invisible character" };
  if (text.trim() !== text) return { part, what: "begins or ends with a space" };
  return undefined;
}
