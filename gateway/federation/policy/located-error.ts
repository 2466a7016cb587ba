import { type ASTNode, type DocumentNode, GraphQLError, type SourceLocation, visit } from "graphql";
import type { ErrorCode, GraphqlCode } from "../../../src/kernel/errors.ts";

const MAX_MESSAGE = 500;
const MAX_LOCATIONS = 10;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/**
 * An error with its locations and without the document, as it may be cached for long; `param` names the argument or
 * variable at fault. Texts are cut where a client wrote a very long name.
 */
export class LocatedError extends GraphQLError {
  override readonly locations: readonly SourceLocation[] | undefined;

  constructor(
    message: string,
    code: ErrorCode | GraphqlCode,
    {
      locations = [],
      param,
    }: { readonly locations?: readonly SourceLocation[]; readonly param?: string | undefined } = {},
  ) {
    super(cut(message), {
      extensions: { code, ...(param !== undefined && { param: cut(param) }) },
    });
    this.locations = locations.length > 0 ? locations : undefined;
  }
}

function cut(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
}

/**
 * Finds lines and columns of nodes. graphql-js scans the whole text for each location of each error, which takes a
 * second for a document of empty lines; here the lines are counted once.
 */
export class Locator {
  readonly #starts = new Map<ASTNode, number>();
  readonly #lines: readonly number[];

  /** Reads the locations of a document that was parsed with them. */
  constructor(text: string, document: DocumentNode) {
    this.#lines = linesOf(text);
    visit(document, {
      enter: (node) => {
        if (node.loc) this.#starts.set(node, node.loc.start);
        delete (node as { loc?: unknown }).loc;
      },
    });
  }

  /** The locations of an error, limited to the first ones. */
  locate({ nodes = [] }: GraphQLError): readonly SourceLocation[] {
    return nodes.slice(0, MAX_LOCATIONS).flatMap((node) => {
      const start = this.#starts.get(node);
      return start === undefined ? [] : [this.#toLocation(start)];
    });
  }

  #toLocation(start: number): SourceLocation {
    let [low, high] = [0, this.#lines.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#lines[middle] ?? 0) <= start) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: start - (this.#lines[low] ?? 0) + 1 };
  }
}

/** The start of each line; lines end with a line feed, a carriage return or both. */
function linesOf(text: string): readonly number[] {
  const lines = [0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === LINE_FEED || (code === RETURN && text.charCodeAt(at + 1) !== LINE_FEED)) lines.push(at + 1);
  }
  return lines;
}
