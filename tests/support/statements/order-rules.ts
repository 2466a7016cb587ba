import type { Columns } from "./account-rules.ts";
import { type Ast, as, columnOf, isQuery, list, nodesOf, queryOf, strings } from "./ast.ts";

const COMPARISONS = new Set(["<", ">", "<=", ">=", "BETWEEN", "BETWEEN SYMMETRIC"]);
const EXTREMES = new Set(["min", "max"]);

/** The tables that a query reads itself, by alias. */
type Tables = ReadonlyMap<string, string>;

/**
 * The columns, as `table.column`, of which a parsed statement uses the order: sorted by, compared by size, or the least
 * or greatest. `ordered` are the columns with values of a sequence. A column that was renamed by an inner query is not
 * recognised.
 */
export function findOrders(statement: unknown, ordered: Columns): readonly string[] {
  const queries = [...nodesOf(statement)].flatMap((node) => {
    const query = queryOf(node)?.query;
    return query ? [{ query, tables: tablesOf(query) }] : [];
  });
  const everywhere = queries.flatMap(({ tables }) => [...tables]);
  const found = queries.flatMap(({ query, tables }) => {
    const used = ownNodes(query)
      .flatMap(orderOf)
      .flatMap((operand) => [...nodesOf(operand, isQuery)]);
    return used.flatMap((node) => {
      const [first = "", second] = columnOf(node) ?? [];
      // A column with an alias may be that of a query around this one.
      const names = second === undefined ? [...tables.values()] : named(everywhere, first);
      const column = second ?? first;
      return names.filter((name) => ordered.get(name)?.has(column)).map((name) => `${name}.${column}`);
    });
  });
  return [...new Set(found)].toSorted();
}

function named(tables: readonly (readonly [string, string])[], alias: string): readonly string[] {
  return tables.filter(([name]) => name === alias).map(([, table]) => table);
}

function tablesOf(query: Ast): Tables {
  const from = [...list(query, "fromClause"), ...list(query, "usingClause")];
  const ranges = [...nodesOf(from, isQuery)].map((node) => as("RangeVar", node));
  // The target of an insert is not read.
  const target = "cols" in query ? undefined : as("relation", query);
  return new Map(
    [...ranges, target].flatMap((range) =>
      range ? [[String(as("alias", range)?.aliasname ?? range.relname), String(range.relname)] as const] : [],
    ),
  );
}

/** The nodes of a query without those of the queries in it. */
function ownNodes(query: Ast): readonly Ast[] {
  return Object.values(query).flatMap((value) => [...nodesOf(value, isQuery)]);
}

/** The operands of a node whose order it uses. */
function orderOf(node: Ast): readonly unknown[] {
  const sort = as("SortBy", node);
  if (sort) return [sort.node];
  const expression = as("A_Expr", node);
  if (expression && COMPARISONS.has(strings(list(expression, "name"))[0] ?? ""))
    return [expression.lexpr, expression.rexpr];
  const call = as("FuncCall", node);
  return call && EXTREMES.has(strings(list(call, "funcname")).at(-1) ?? "") ? list(call, "args") : [];
}
