import * as z from "zod/mini";
import { parameter } from "../../data/list/list-search.ts";

/** What the catalogue shows: a text, filters and the order, such as `-PRICE`. */
export const modelsSearch = z.object({
  q: parameter(z.string().check(z.maxLength(100))),
  /** What a model accepts or returns, such as `image`. */
  modality: parameter(z.string().check(z.maxLength(32))),
  trust: parameter(z.enum(["STANDARD", "VERIFIED", "PRIVATE"])),
  provider: parameter(z.string().check(z.regex(/^0x[0-9A-Fa-f]{40}$/))),
  sort: parameter(z.string().check(z.regex(/^-?(?:NAME|PRICE|LATENCY|UPTIME|CONTEXT)$/))),
});

export type ModelsSearch = z.infer<typeof modelsSearch>;
