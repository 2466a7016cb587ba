import * as z from "zod/mini";
import { listSearch, parameter } from "../../data/list/list-search.ts";

const address = z.string().check(z.regex(/^0x[0-9A-Fa-f]{40}$/));

/** `owner`: whose tokens, those of everyone with `any`, and without it those of the signed-in account. */
export const tokensSearch = z.extend(listSearch, {
  owner: parameter(z.union([address, z.literal("any")])),
  contract: parameter(address),
});
export type TokensSearch = z.output<typeof tokensSearch>;
