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

/** Whether a list goes on, and where. */
@Directive("@shareable")
@ObjectType("PageInfo", {
  description: "Where a page lies in its list.",
  simpleResolvers: true,
})
class PageInfoType {
  @Field(() => Boolean, { description: "Whether more comes after this page." })
  hasNextPage!: boolean;

  @Field(() => Boolean, {
    description: "Whether this page was requested by a cursor, so that something precedes it.",
  })
  hasPreviousPage!: boolean;

  @Field(() => CursorScalar, { nullable: true, description: "The cursor of the first row." })
  startCursor!: string | null;

  @Field(() => CursorScalar, {
    nullable: true,
    description: "The cursor of the last row: `after` of the next page.",
  })
  endCursor!: string | null;
}

/** The arguments of every list. */
@ArgsType()
export class PageArgs {
  @Field(() => Int, { defaultValue: 20, description: "At most so many rows, 1 to 100." })
  first!: number;

  @Field(() => CursorScalar, { nullable: true, description: "The cursor of the row that the page follows." })
  after!: string | null | undefined;
}

/** One page of a list, as Relay has it. */
export type Connection<T> = {
  readonly edges: readonly { readonly node: T; readonly cursor: string }[];
  readonly nodes: readonly T[];
  readonly pageInfo: PageInfoType;
};

/** Makes the types of a list of `type`: `NameConnection` and `NameEdge`. */
export function defineConnection<T extends object>(
  name: string,
  type: () => ClassType<T>,
): ClassType<Connection<T>> {
  @ObjectType(`${name}Edge`, {
    description: `A row of a list of \`${name}\`.`,
    simpleResolvers: true,
  })
  class Edge {
    @Field(type, { description: "The row itself." })
    node!: T;

    @Field(() => CursorScalar, { description: "Where the list goes on after this row." })
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

    @Field(() => PageInfoType, { description: "Where this page lies in the list." })
    pageInfo!: PageInfoType;
  }
  return NodeConnection;
}

/** What a service is asked for. */
export function toPageRequest({ first, after }: PageArgs): PageRequest {
  return { first, after: after ?? undefined };
}

/** What a client is given for a page that a service found. */
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

/** A page of a list that is in memory as a whole, in the order of `keyOf`. Throws as a service's list does. */
export function pageOf<T>(rows: readonly T[], args: PageArgs, keyOf: (row: T) => string): Connection<T> {
  const request = toPageRequest(args);
  const limit = pageLimit(request);
  const [last] = request.after === undefined ? [] : decodeCursor(request.after, 1);
  const start = last === undefined ? 0 : rows.findIndex((row) => keyOf(row) > last);
  const found = start < 0 ? [] : rows.slice(start, start + limit);
  return toConnection(toPage(found, request), args, (row) => encodeCursor(keyOf(row)));
}
