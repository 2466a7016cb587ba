import { Kind, type OperationDefinitionNode } from "graphql";
import { ByteLru } from "../../src/kernel/byte-lru.ts";
import { isIntrospection } from "../federation/engine/document/introspection.ts";
import type { Admitted, OperationPayload } from "../federation/policy/policy.ts";

/** Size limit of the cache; the response to the usual query of tools is half a megabyte. */
const MAX_CACHED_BYTES = 16 * 1_048_576;

/**
 * Introspection responses as bytes, by query text: they do not change while the process lives, and computing one
 * takes longer than answering a hundred ordinary queries.
 */
export class IntrospectionAnswers {
  readonly #answers = new ByteLru<Buffer>({ maxBytes: MAX_CACHED_BYTES });

  /** The cached response to a request; undefined if there is none. */
  find(payload: OperationPayload, { operation }: Pick<Admitted, "operation">): Buffer | undefined {
    const key = asksSchemaAlone(operation) ? keyOf(payload) : undefined;
    return key === undefined ? undefined : this.#answers.get(key);
  }

  /** The response as bytes, cached if the operation selects only introspection fields. */
  keep(payload: OperationPayload, { operation }: Pick<Admitted, "operation">, text: string): Buffer | string {
    const key = asksSchemaAlone(operation) ? keyOf(payload) : undefined;
    if (key === undefined) return text;
    const bytes = Buffer.from(text);
    this.#answers.set(key, bytes, bytes.length + key.length);
    return bytes;
  }
}

/** Undefined for a request whose response depends on more than its text. */
function keyOf({ query, operationName, variables }: OperationPayload): string | undefined {
  if (!query || Object.keys(variables ?? {}).length > 0) return undefined;
  return `${operationName ?? ""}\n${query}`;
}

function asksSchemaAlone({ selectionSet }: OperationDefinitionNode): boolean {
  return selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && isIntrospection(selection),
  );
}
