import { parse, print } from "graphql";
import { ByteLru } from "../../../../src/kernel/byte-lru.ts";
import { countWrittenOut, readFragments, writeOutFragments } from "../document/fragments.ts";
import type { Operation } from "../execution.ts";
import type { SubgraphOperation } from "../planner.ts";
import { refusal } from "../refusal.ts";

/** The most selections of one subgraph request, with the planner's fragments inlined. */
const MAX_WRITTEN_OUT = 20_000;
const MAX_BYTES = 4 * 1_048_576;
/** A parsed operation takes about this many bytes per character. */
const BYTES_PER_CHARACTER = 40;

/**
 * The parsed operations of subgraph requests, by their text. Plans of different documents send the same requests, and
 * share one object, which would take more memory than the rest of a plan.
 */
export class SubgraphOperations {
  readonly #known = new ByteLru<Operation>({ maxBytes: MAX_BYTES, isSelective: true });

  /** The operation of a fetch. Throws a GraphQLError for one that is too large. */
  of(node: SubgraphOperation): Operation {
    const { operation: text } = node;
    const known = this.#known.get(text);
    if (known) return known;
    const read = readOperation(node);
    this.#known.set(text, read, BYTES_PER_CHARACTER * (text.length + read.text.length));
    return read;
  }
}

/**
 * Reads the operation of a fetch. The planner puts repeated selections into fragments, also under
 * different conditions. graphql-jit, which our subgraphs run on, stores conditions in the nodes of a fragment, and
 * so mixes up those of its spreads. Therefore fragments are inlined, with separate nodes for each spread.
 */
export function readOperation({ operation }: SubgraphOperation): Operation {
  const document = parse(operation, { noLocation: true });
  const fragments = readFragments(document);
  if (fragments.size === 0) return { document, text: operation };
  if (countWrittenOut(document, fragments) > MAX_WRITTEN_OUT)
    throw refusal("The plan of this operation is too large. Split it into smaller operations.");
  const text = print(writeOutFragments(document, fragments));
  return { document: parse(text, { noLocation: true }), text };
}
