import { type DocumentNode, print } from "graphql";

/**
 * A GraphQL document with the types of its result and its variables: what gql.tada, GraphQL Code Generator and this
 * package's own operations are. A plain string is accepted too, without types.
 */
export type TypedDocument<Result = unknown, Variables = Record<string, unknown>> = (
  | DocumentNode
  | { toString(): string }
) & {
  // A method, so that documents of narrower variables can be passed on.
  __apiType?(variables: Variables): Result;
};

/** The types that GraphQL Code Generator attaches to a document. */
export interface DocumentTypeDecoration<Result, Variables> {
  __apiType?: (variables: Variables) => Result;
}

/** What a transport sends. */
export type Operation = {
  readonly query: string;
  readonly operationName?: string;
  readonly variables: Readonly<Record<string, unknown>>;
};

/** The text of a document. */
export function textOf(document: TypedDocument<unknown, never>): string {
  return typeof document === "object" && isNode(document) ? print(document) : String(document);
}

/** Whether a document declares the variable `$after`, with which a subscription resumes. */
export function declaresAfter(query: string): boolean {
  return /\$after\s*:/.test(query);
}

/** The first root field of a subscription's text, without its alias. */
export function rootFieldOf(query: string): string | undefined {
  // Strings, comments, and what is in parentheses may have braces: default values, and arguments of directives.
  const selections = query
    .replaceAll(/"""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*/g, "")
    .replaceAll(/\((?:[^()]|\([^()]*\))*\)/g, "");
  const [, field] = /\bsubscription\b[^{]*\{\s*(?:[_A-Za-z]\w*\s*:\s*)?([_A-Za-z]\w*)/.exec(selections) ?? [];
  return field;
}

function isNode(document: object): document is DocumentNode {
  return "kind" in document && document.kind === "Document";
}
