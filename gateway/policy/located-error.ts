import { type ASTNode, type DocumentNode, GraphQLError, type SourceLocation, visit } from "graphql";

const MAX_MESSAGE = 500;
const MAX_LOCATIONS = 10;

/**
 * An error with its places and without the document: it may be kept for long. The message is cut where a client wrote
 * a name that fills a page.
 */
export class LocatedError extends GraphQLError {
  override readonly locations: readonly SourceLocation[] | undefined;

  constructor(message: string, code: string, locations: readonly SourceLocation[] = []) {
    super(message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message, {
      extensions: { code },
    });
    this.locations = locations.length > 0 ? locations : undefined;
  }
}

/**
 * Finds lines and columns of nodes. graphql-js looks through the whole text for each place of each error, which takes
 * a second for a document of empty lines; here the lines are counted once.
 */
export class Locator {
  readonly #starts = new Map<ASTNode, number>();
  readonly #lines: readonly number[];

  /** Takes the places out of a document that was parsed with them. */
  constructor(text: string, document: DocumentNode) {
    this.#lines = [0, ...[...text.matchAll(/\r\n|[\n\r]/g)].map(({ index, 0: end }) => index + end.length)];
    visit(document, {
      enter: (node) => {
        if (node.loc) this.#starts.set(node, node.loc.start);
        delete (node as { loc?: unknown }).loc;
      },
    });
  }

  /** The places of an error, the first of them where it has many. */
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
