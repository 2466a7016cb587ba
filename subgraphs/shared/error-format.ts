import { type ASTNode, GraphQLError, Kind, parse } from "graphql";
import mercurius, { type MercuriusOptions } from "mercurius";
import { findMember, type MemberPaths, readMemberPaths } from "./member-paths.ts";

type Format = NonNullable<MercuriusOptions["errorFormatter"]>;

/**
 * Mercurius' format of errors. As at our own gateway, `param` names the variable, argument or member at fault. An error
 * of a variable has the code `invalid_parameter`; that of a cursor names the argument that the variable fills, because
 * routers make variables of literals.
 */
export const formatErrors: Format = (execution, context) => {
  let paths: MemberPaths | undefined;
  for (const error of execution.errors.flatMap(partsOf)) {
    const { extensions, nodes: [node] = [] } = error;
    const text = node?.loc?.source.body;
    if (!node || text === undefined || extensions.param !== undefined) continue;
    if (node.kind !== Kind.VARIABLE_DEFINITION) {
      paths ??= readMemberPaths(parse(text));
      extensions.param = findMember(paths, { nodes: nodesIn(paths, error) }, error.message);
      continue;
    }
    const name = node.variable.name.value;
    const isCursor = extensions.code === "invalid_cursor";
    if (isCursor) paths ??= readMemberPaths(parse(text));
    extensions.code ??= "invalid_parameter";
    extensions.param = (isCursor && paths && filledBy(paths, name)) || name;
  }
  return mercurius.defaultErrorFormatter(execution, context);
};

/** The errors behind an error of Mercurius for a whole request. */
function partsOf({ originalError }: GraphQLError): readonly GraphQLError[] {
  const { errors } = Object(originalError) as { readonly errors?: unknown };
  return Array.isArray(errors) ? errors.filter((error) => error instanceof GraphQLError) : [];
}

/** The nodes of an error as those of `paths`, whose document was parsed again, as errors have only parts of it. */
function nodesIn(paths: MemberPaths, { nodes = [] }: GraphQLError): readonly ASTNode[] {
  const places = new Map([...paths.keys()].map((node) => [placeOf(node), node] as const));
  return nodes.flatMap((node) => places.get(placeOf(node)) ?? []);
}

function placeOf({ kind, loc }: ASTNode): string {
  return `${kind} ${loc?.start} ${loc?.end}`;
}

/** The first argument or member that a variable fills. */
function filledBy(paths: MemberPaths, variable: string): string | undefined {
  for (const [node, { path }] of paths)
    if (node.kind === Kind.VARIABLE && node.name.value === variable) return path;
  return undefined;
}
