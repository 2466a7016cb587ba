import { addTags, readTags, type Tag, type Tags } from "../../src/accounts/tags/tags.ts";
import type { Caller } from "../../src/inference/billing/admitted.ts";

/**
 * The caller of a request with these tags, and then those in its `metadata`, as REST reads them. Throws
 * `invalid_parameter` for tags that are not valid.
 */
export function tagged(caller: Caller, list: readonly Tag[] | null | undefined, metadata?: Tags): Caller {
  const tags = addTags(readTags(list ?? [], "tags"), metadata);
  return tags ? { ...caller, tags } : caller;
}
