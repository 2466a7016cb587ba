import { Kind, type OperationDefinitionNode } from "graphql";
import { ByteLru } from "../../src/kernel/byte-lru.ts";
import { isIntrospection } from "../federation/engine/document/introspection.ts";
import type { Admitted, OperationPayload } from "../federation/policy/policy.ts";

/** What all kept answers may take; the answer to the usual query of tools is half a megabyte. */
const MAX_KEPT_BYTES = 16 * 1_048_576;

/**
 * Answers to introspection as bytes, by the text of the query: they never change while the process lives, and making one
 * takes longer than answering a hundred ordinary queries.
 */
export class IntrospectionAnswers {
  readonly #answers = new ByteLru<Buffer>({ maxBytes: MAX_KEPT_BYTES });

  /** The answer that was kept for a request; undefined when there is none. */
  find(payload: OperationPayload, { operation }: Pick<Admitted, "operation">): Buffer | undefined {
    const key = asksSchemaAlone(operation) ? keyOf(payload) : undefined;
    return key === undefined ? undefined : this.#answers.get(key);
  }

  /** The answer as bytes, kept when the operation asks for the schema and for nothing else. */
  keep(payload: OperationPayload, { operation }: Pick<Admitted, "operation">, text: string): Buffer | string {
    const key = asksSchemaAlone(operation) ? keyOf(payload) : undefined;
    if (key === undefined) return text;
    const bytes = Buffer.from(text);
    this.#answers.set(key, bytes, bytes.length + key.length);
    return bytes;
  }
}

/** Undefined for a request whose answer depends on more than its text. */
function keyOf({ query, operationName, variables }: OperationPayload): string | undefined {
  if (!query || Object.keys(variables ?? {}).length > 0) return undefined;
  return `${operationName ?? ""}\n${query}`;
}

function asksSchemaAlone({ selectionSet }: OperationDefinitionNode): boolean {
  return selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && isIntrospection(selection),
  );
}
