/** A node of a parsed statement: PostgreSQL's own tree, in which an object with one key names the kind of its value. */
export type Ast = { readonly [field: string]: unknown };

/** The fields of a node if it is of this kind. */
export function as(kind: string, node: unknown): Ast | undefined {
  const value = isAst(node) ? node[kind] : undefined;
  return isAst(value) ? value : undefined;
}

/** A field that is a list of nodes; empty if it is absent. */
export function list(node: Ast | undefined, field: string): readonly unknown[] {
  const value = node?.[field];
  return Array.isArray(value) ? value : [];
}

/** The texts of a list of `String` nodes. */
export function strings(nodes: readonly unknown[]): readonly string[] {
  return nodes.flatMap((node) => {
    const text = as("String", node)?.sval;
    return typeof text === "string" ? [text] : [];
  });
}

/** The parts of a column reference, such as `["r", "account"]`; undefined for anything else. Casts are looked through. */
export function columnOf(node: unknown): readonly string[] | undefined {
  const cast = as("TypeCast", node);
  if (cast) return columnOf(cast.arg);
  const reference = as("ColumnRef", node);
  return reference && strings(list(reference, "fields"));
}

/** Every node below this one, itself first, except those below nodes that `isEnd` accepts. */
export function* nodesOf(node: unknown, isEnd: (node: Ast) => boolean = () => false): Generator<Ast> {
  if (Array.isArray(node)) for (const child of node) yield* nodesOf(child, isEnd);
  if (!isAst(node)) return;
  yield node;
  if (isEnd(node)) return;
  for (const child of Object.values(node)) yield* nodesOf(child, isEnd);
}

export function isAst(value: unknown): value is Ast {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A query of its own, with its fields. */
type Query = { readonly kind: "select" | "insert" | "update" | "delete"; readonly query: Ast };

/** The query that a node is. The sides of a union are queries that are not wrapped in their kind, so none is expected. */
export function queryOf(node: Ast): Query | undefined {
  if (String(node.op).startsWith("SETOP_")) return { kind: "select", query: node };
  for (const kind of ["Insert", "Update", "Delete"] as const) {
    const query = as(`${kind}Stmt`, node);
    if (query) return { kind: kind.toLowerCase() as Lowercase<typeof kind>, query };
  }
  return undefined;
}

/** Whether a node is a query of its own. */
export function isQuery(node: Ast): boolean {
  return queryOf(node) !== undefined;
}
