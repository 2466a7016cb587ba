import { type Ast, as, columnOf, isAst, isQuery, list, nodesOf, queryOf, strings } from "./ast.ts";

/** The tables that are spread by account, each with that column; views of them as well. */
export type Placement = ReadonlyMap<string, string>;

/** The columns of every table. */
export type Columns = ReadonlyMap<string, ReadonlySet<string>>;

/** `=`, `= any (...)` and `in (...)`; not `is distinct from`. */
const EQUALITIES = new Set(["AEXPR_OP", "AEXPR_OP_ANY", "AEXPR_IN"]);

/** Where `from`, `update` and so on read rows: a table that is spread by account, or anything else. */
type Source = { readonly alias: string; readonly table: string | undefined };

/** What is wrong with one query, as `table` or `table on conflict`. */
type Fault = string;

/**
 * The tables of a parsed statement that are read or written without the account: not compared with a value or with
 * rows of another kind, not joined by the account to a table that is, or inserted into without its column. A table
 * whose conflicts are found without the account is named with `on conflict`.
 */
export function findFaults(statement: unknown, placement: Placement, columns: Columns): readonly Fault[] {
  const check = new Check(placement, columns);
  check.all(statement, new Set());
  return [...check.faults].toSorted();
}

class Check {
  readonly faults = new Set<Fault>();
  readonly #placement: Placement;
  readonly #columns: Columns;

  constructor(placement: Placement, columns: Columns) {
    this.#placement = placement;
    this.#columns = columns;
  }

  /** Checks every query in a tree. `named` are the `with` queries around it, whose names hide tables. */
  all(tree: unknown, named: ReadonlySet<string>): void {
    for (const node of nodesOf(tree, isQuery)) {
      const found = queryOf(node);
      if (found?.kind === "insert")
        this.#query(found.query, named, (names) => this.#insert(found.query, names));
      else if (found) this.#query(found.query, named, (names) => this.#sources(found.query, names));
    }
  }

  /** Checks the queries in a query, and with `own` the query itself. */
  #query(query: Ast, around: ReadonlySet<string>, own: (named: ReadonlySet<string>) => void): void {
    const ctes = list(isAst(query.withClause) ? query.withClause : undefined, "ctes");
    const names = ctes.map((node) => String(as("CommonTableExpr", node)?.ctename));
    const named = new Set([...around, ...names]);
    own(named);
    for (const value of Object.values(query)) this.all(value, named);
  }

  #sources(query: Ast, named: ReadonlySet<string>): void {
    const target = isAst(query.relation) ? [this.#source(query.relation, named)] : [];
    const conditions: unknown[] = [query.whereClause];
    const from = [...list(query, "fromClause"), ...list(query, "usingClause")];
    const read = from.flatMap((item) => this.#fromItem(item, named, conditions));
    const sources = [...target, ...read];
    const bound = this.#boundBy(conditions, sources);
    for (const { alias, table } of sources) if (table && !bound.has(alias)) this.faults.add(table);
  }

  #insert(query: Ast, named: ReadonlySet<string>): void {
    const { table } = this.#source(isAst(query.relation) ? query.relation : {}, named);
    const account = table && this.#placement.get(table);
    if (!table || !account) return;
    if (!list(query, "cols").some((column) => as("ResTarget", column)?.name === account))
      this.faults.add(table);
    const infer = isAst(query.onConflictClause) ? query.onConflictClause.infer : undefined;
    const elements = list(isAst(infer) ? infer : undefined, "indexElems").map(
      (node) => as("IndexElem", node)?.name,
    );
    if (infer && !elements.includes(account)) this.faults.add(`${table} on conflict`);
  }

  #source(range: Ast, named: ReadonlySet<string>): Source {
    const name = String(range.relname);
    const alias = isAst(range.alias) ? String(range.alias.aliasname) : name;
    return { alias, table: !named.has(name) && this.#placement.has(name) ? name : undefined };
  }

  /** The sources of one item of `from`; adds the conditions of its joins. */
  #fromItem(item: unknown, named: ReadonlySet<string>, conditions: unknown[]): readonly Source[] {
    const range = as("RangeVar", item);
    if (range) return [this.#source(range, named)];
    const join = as("JoinExpr", item);
    if (!join) {
      const other = as("RangeSubselect", item) ?? as("RangeFunction", item);
      return [{ alias: isAst(other?.alias) ? String(other.alias.aliasname) : "", table: undefined }];
    }
    const left = this.#fromItem(join.larg, named, conditions);
    const right = this.#fromItem(join.rarg, named, conditions);
    conditions.push(join.quals);
    for (const column of strings(list(join, "usingClause"))) {
      const owners = left.filter(({ table }) => table && this.#columns.get(table)?.has(column));
      for (const one of owners.length > 0 ? owners : left)
        for (const other of right) conditions.push(equality(one.alias, other.alias, column));
    }
    return [...left, ...right];
  }

  /** The sources that the conditions tie to an account, directly or by a join with one that they tie. */
  #boundBy(conditions: readonly unknown[], sources: readonly Source[]): ReadonlySet<string> {
    const bound = new Set<string>();
    const joins: (readonly [string, string])[] = [];
    const compare = (one: unknown, other: unknown) => {
      const [first, second] = [this.#accountOf(one, sources), this.#accountOf(other, sources)];
      if (first && second) joins.push([first, second]);
      else if (first && !this.#isColumn(other, sources)) bound.add(first);
      else if (second && !this.#isColumn(one, sources)) bound.add(second);
    };
    for (const condition of conditions.flatMap(conjuncts)) {
      const expression = as("A_Expr", condition);
      const isEqual =
        strings(list(expression, "name"))[0] === "=" && EQUALITIES.has(String(expression?.kind));
      if (expression && isEqual) compare(expression.lexpr, expression.rexpr);
      const link = as("SubLink", condition);
      if (link?.subLinkType === "ANY_SUBLINK") compare(link.testexpr, undefined);
    }
    for (let grown = true; grown; ) {
      grown = false;
      for (const [one, other] of joins)
        if (bound.has(one) !== bound.has(other)) {
          bound.add(one).add(other);
          grown = true;
        }
    }
    return bound;
  }

  /** Whether an expression is a column of a table that is spread by account, which says nothing about the account. */
  #isColumn(expression: unknown, sources: readonly Source[]): boolean {
    const [first, second] = columnOf(expression) ?? [];
    const placed = sources.filter(({ table }) => table !== undefined);
    if (second !== undefined) return placed.some(({ alias }) => alias === first);
    return placed.some(({ table = "" }) => first !== undefined && this.#columns.get(table)?.has(first));
  }

  /** The source whose account an expression is; also of a row of columns. */
  #accountOf(expression: unknown, sources: readonly Source[]): string | undefined {
    const row = as("RowExpr", expression);
    if (row)
      return list(row, "args")
        .map((part) => this.#accountOf(part, sources))
        .find(Boolean);
    const [first, second] = columnOf(expression) ?? [];
    if (first === undefined) return undefined;
    const isAccount = ({ table }: Source, column: string) =>
      table !== undefined && this.#placement.get(table) === column;
    if (second !== undefined)
      return sources.find((source) => source.alias === first && isAccount(source, second))?.alias;
    const owners = sources.filter(({ table }) => table && this.#columns.get(table)?.has(first));
    return owners.find((source) => isAccount(source, first))?.alias;
  }
}

/** The conditions that all hold. */
function conjuncts(condition: unknown): readonly unknown[] {
  const all = as("BoolExpr", condition);
  return all?.boolop === "AND_EXPR" ? list(all, "args").flatMap(conjuncts) : [condition];
}

function equality(one: string, other: string, column: string): Ast {
  const reference = (alias: string) => ({
    ColumnRef: { fields: [{ String: { sval: alias } }, { String: { sval: column } }] },
  });
  return {
    A_Expr: {
      kind: "AEXPR_OP",
      name: [{ String: { sval: "=" } }],
      lexpr: reference(one),
      rexpr: reference(other),
    },
  };
}
