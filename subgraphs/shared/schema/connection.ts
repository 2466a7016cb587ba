import "./reflect.ts";
import { ArgsType, type ClassType, Directive, Field, Int, ObjectType } from "type-graphql";
import type { RowCount } from "../../../src/db/count-rows.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import {
  encodeCursor,
  type Page,
  type PageRequest,
  pageLimit,
  readPageCursor,
  scanOf,
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
  @Field(() => Boolean, {
    description:
      "Whether there are more rows after this page. Always true with `before`, because the row of that cursor follows.",
  })
  hasNextPage!: boolean;

  @Field(() => Boolean, {
    description:
      "Whether there are more rows before this page. Always true with `after`, because the row of that cursor precedes it.",
  })
  hasPreviousPage!: boolean;

  @Field(() => CursorScalar, {
    nullable: true,
    description:
      "Cursor of the first row: pass it as `before`, with `last`, to get the previous page. Null for an empty page.",
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
  @Field(() => Int, {
    nullable: true,
    description:
      "The number of rows to return from the start of the list, or after `after`: 1 to 100. Default: 20, unless `last` is given.",
  })
  first!: number | null | undefined;

  @Field(() => CursorScalar, { nullable: true, description: "Return rows after this cursor." })
  after!: string | null | undefined;

  @Field(() => Int, {
    nullable: true,
    description:
      "The number of rows to return from the end of the list, or before `before`: 1 to 100. Cannot be combined with `first`.",
  })
  last!: number | null | undefined;

  @Field(() => CursorScalar, {
    nullable: true,
    description: "Return rows before this cursor. Requires `last`.",
  })
  before!: string | null | undefined;
}

/** One page of a list, in the shape of a Relay connection. */
export type Connection<T> = {
  readonly edges: readonly { readonly node: T; readonly cursor: string }[];
  readonly nodes: readonly T[];
  readonly pageInfo: PageInfoType;
  /** Only of lists whose rows are counted, and only when a client asks. */
  readonly totalCount?: Promise<number> | undefined;
  readonly totalCountEstimated?: Promise<boolean> | undefined;
};

/** Defines the types of a list of `type`, whose rows are not counted: `NameConnection` and `NameEdge`. */
export function defineConnection<T extends object>(
  name: string,
  type: () => ClassType<T>,
): ClassType<Connection<T>> {
  return defineTypes(name, type);
}

/** Defines the types of a list of `type` with `totalCount`: `NameConnection` and `NameEdge`. */
export function defineCountedConnection<T extends object>(
  name: string,
  type: () => ClassType<T>,
): ClassType<Connection<T>> {
  const connection = defineTypes(name, type);
  Directive("@cost(weight: 5)")(connection.prototype, "totalCount");
  // Not simple: the engine reads simple fields without waiting for a promise.
  Field(() => Int, { nullable: true, simple: false, description: TOTAL_COUNT })(
    connection.prototype,
    "totalCount",
  );
  Field(() => Boolean, {
    nullable: true,
    simple: false,
    description: "Whether `totalCount` is an estimate. Null if the rows could not be counted.",
  })(connection.prototype, "totalCountEstimated");
  return connection;
}

const TOTAL_COUNT =
  "The number of rows in the whole list, on all pages. Above 10,000 it is an estimate. Null if the rows could not be " +
  "counted.";

function defineTypes<T extends object>(name: string, type: () => ClassType<T>): ClassType<Connection<T>> {
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

/** The length of a page without `first` and `last`. */
export const DEFAULT_SIZE = 20;

/** Maps page arguments to a service's page request. Throws `invalid_parameter` for those of both directions. */
export function toPageRequest({ first, after, last, before }: PageArgs): PageRequest {
  if (last == null) {
    if (before != null) throw mixed("before", "Use `before` with `last`.");
    return { first: first ?? DEFAULT_SIZE, after: after ?? undefined };
  }
  if (first != null) throw mixed("last", "Use either `first` or `last`.");
  if (after != null) throw mixed("after", "Use `after` with `first`.");
  return { last, before: before ?? undefined };
}

function mixed(param: string, message: string): AppError {
  return new AppError("invalid_parameter", message, { param });
}

/** Maps a page returned by a service to a connection; `count` counts the rows of the list, at most once. */
export function toConnection<T>(
  page: Page<T>,
  cursorOf: (row: T) => string,
  count?: () => Promise<RowCount>,
): Connection<T> {
  let counted: Promise<RowCount> | undefined;
  const counting = () => (counted ??= count?.());
  const edges = page.rows.map((node) => ({ node, cursor: cursorOf(node) }));
  return {
    edges,
    nodes: page.rows,
    pageInfo: {
      hasNextPage: page.hasNextPage,
      hasPreviousPage: page.hasPreviousPage,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    get totalCount() {
      return counting()?.then(({ rows }) => rows);
    },
    get totalCountEstimated() {
      return counting()?.then(({ isExact }) => !isExact);
    },
  };
}

/** Maps a page of rows that have their own cursors to a connection, like `toConnection`. */
export function toPlacedConnection<T extends { readonly cursor: string }>(
  page: Page<T>,
  count?: () => Promise<RowCount>,
): Connection<T> {
  return toConnection(page, ({ cursor }) => cursor, count);
}

/**
 * A page of a list that is wholly in memory, in the order of `keyOf`; `list` is its name in its cursors. Throws what a
 * service's list throws.
 */
export function pageOf<T>(
  list: string,
  rows: readonly T[],
  args: PageArgs,
  keyOf: (row: T) => string,
  direction: "asc" | "desc" = "asc",
): Connection<T> {
  const page = toPageRequest(args);
  const limit = pageLimit(page);
  const [from] = readPageCursor(page, list, 1) ?? [];
  const isAscending = scanOf(page, direction).order === "asc";
  const sign = isAscending ? 1 : -1;
  const keyed = rows.map((row) => ({ row, key: keyOf(row) }));
  const found = keyed
    .filter(({ key }) => from === undefined || (isAscending ? key > from : key < from))
    .toSorted((one, other) => (one.key < other.key ? -sign : sign))
    .slice(0, limit);
  const count = async () => ({ rows: rows.length, isExact: true });
  return toConnection(
    toPage(
      found.map(({ row }) => row),
      page,
    ),
    (row) => encodeCursor(list, keyOf(row)),
    count,
  );
}
