import { isText } from "./elided-text.ts";
import type { Fields } from "./fields.ts";

/** The members of a content part that have a file. */
export const FILES = [
  ...["source", "file", "image_file"],
  ...["image_url", "input_audio", "audio_url", "video_url"],
] as const;

/**
 * Calls `visit` with each part of a content, and with the parts within it, and the path of each. A content that is one
 * part instead of a list is that part: results of tools have such contents.
 */
export function eachPart(content: unknown, path: string, visit: (part: Fields, path: string) => void): void {
  if (!isObject(content)) return;
  if (!Array.isArray(content)) eachWithin(content, path, visit);
  else
    for (const [at, part] of content.entries()) if (isObject(part)) eachWithin(part, `${path}.${at}`, visit);
}

/** The levels of JSON bound the recursion. */
function eachWithin(part: Fields, path: string, visit: (part: Fields, path: string) => void): void {
  visit(part, path);
  eachPart(part.content, `${path}.content`, visit);
  for (const name of FILES) {
    const file = part[name];
    if (isObject(file)) eachPart(file.content, `${path}.${name}.content`, visit);
  }
}

/** Long strings of a large body are objects here. */
function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !isText(value);
}
