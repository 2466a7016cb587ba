import * as z from "zod/mini";
import { listSearch, parameter } from "../../data/list/list-search.ts";

/**
 * `tab`: the files, or the key-value streams. `all`: files of everyone. `stream`, and of it `prefix` (as text), `key`
 * (its bytes) and `version`: what of the streams is shown.
 */
export const storageSearch = z.extend(listSearch, {
  tab: parameter(z.enum(["values"])),
  all: parameter(z.literal(true)),
  stream: parameter(z.string().check(z.regex(/^0x[0-9a-fA-F]{64}$/))),
  prefix: parameter(z.string().check(z.maxLength(1_024))),
  key: parameter(z.string().check(z.regex(/^0x([0-9a-fA-F]{2}){1,1024}$/))),
  version: parameter(z.int().check(z.gte(0))),
});
export type StorageSearch = z.output<typeof storageSearch>;

/** `path`: the directory of a folder. */
export const fileSearch = z.extend(listSearch, { path: parameter(z.string().check(z.maxLength(4_096))) });
export type FileSearch = z.output<typeof fileSearch>;
