import "./reflect.ts";
import { ArgsType, type ClassType, Directive, Field, Int, ObjectType } from "type-graphql";
import {
  decodeCursor,
  encodeCursor,
  type Page,
  type PageRequest,
  pageLimit,
  toPage,
} from "../../../src/kernel/page.ts";
import { CursorScalar } from "./scalars.ts";

/** Whether a list has more pages, and the cursors to them. */
@Directive("@shareable")
@ObjectType("PageInfo", {
  description: "The position of a page in its list.",
  simpleResolvers: true,
})
class PageInfoType {
  @Field(() => Boolean, { description: "Whether there are more rows after this page." })
  hasNextPage!: boolean;

  @Field(() => Boolean, {
    description: "Whether rows precede this page: true when the page was requested with `after`.",
  })
  hasPreviousPage!: boolean;

  @Field(() => CursorScalar, {
    nullable: true,
    description: "Cursor of the first row. Null for an empty page.",
  })
  startCursor!: string | null;

  @Field(() => CursorScalar, {
    nullable: true,
    description: "Cursor of the last row: pass it as `after` to get the next page. Null for an empty page.",
  })
  endCursor!: string | null;
}

/** The arguments of every list. */
@ArgsType()
export class PageArgs {
  @Field(() => Int, { defaultValue: 20, description: "Page size, 1 to 100." })
  first!: number;

  @Field(() => CursorScalar, { nullable: true, description: "Return rows after this cursor." })
  after!: string | null | undefined;
}

/** One page of a list, in the shape of a Relay connection. */
export type Connection<T> = {
  readonly edges: readonly { readonly node: T; readonly cursor: string }[];
  readonly nodes: readonly T[];
  readonly pageInfo: PageInfoType;
};

/** Defines the types of a list of `type`: `NameConnection` and `NameEdge`. */
export function defineConnection<T extends object>(
  name: string,
  type: () => ClassType<T>,
): ClassType<Connection<T>> {
  @ObjectType(`${name}Edge`, {
    description: `A row of a list of \`${name}\`.`,
    simpleResolvers: true,
  })
  class Edge {
    @Field(type, { description: "The row." })
    node!: T;

    @Field(() => CursorScalar, {
      description: "Cursor of this row: pass it as `after` to get the rows after it.",
    })
    cursor!: string;
  }

  @ObjectType(`${name}Connection`, {
    description: `A page of a list of \`${name}\`.`,
    simpleResolvers: true,
  })
  class NodeConnection {
    @Field(() => [Edge], { description: "The rows with their cursors." })
    edges!: readonly Edge[];

    @Field(() => [type()], { description: "The rows." })
    nodes!: readonly T[];

    @Field(() => PageInfoType, { description: "The position of this page in the list." })
    pageInfo!: PageInfoType;
  }
  return NodeConnection;
}

/** Maps page arguments to a service's page request. */
export function toPageRequest({ first, after }: PageArgs): PageRequest {
  return { first, after: after ?? undefined };
}

/** Maps a page returned by a service to a connection. */
export function toConnection<T>(page: Page<T>, args: PageArgs, cursorOf: (row: T) => string): Connection<T> {
  const edges = page.rows.map((node) => ({ node, cursor: cursorOf(node) }));
  return {
    edges,
    nodes: page.rows,
    pageInfo: {
      hasNextPage: page.hasNextPage,
      hasPreviousPage: typeof args.after === "string",
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

/** A page of a list that is wholly in memory, ordered by `keyOf`. Throws what a service's list throws. */
export function pageOf<T>(rows: readonly T[], args: PageArgs, keyOf: (row: T) => string): Connection<T> {
  const request = toPageRequest(args);
  const limit = pageLimit(request);
  const [last] = request.after === undefined ? [] : decodeCursor(request.after, 1);
  const start = last === undefined ? 0 : rows.findIndex((row) => keyOf(row) > last);
  const found = start < 0 ? [] : rows.slice(start, start + limit);
  return toConnection(toPage(found, request), args, (row) => encodeCursor(keyOf(row)));
}
