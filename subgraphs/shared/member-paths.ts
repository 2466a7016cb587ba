import {
  type ArgumentNode,
  type ASTNode,
  type DocumentNode,
  type GraphQLError,
  Kind,
  type ObjectFieldNode,
  type ValueNode,
  visit,
} from "graphql";

/** `path` names an argument or member, `within` begins the paths of its own members. */
type Place = { readonly path: string; readonly within: string };

/** The places of the literals of a document, by the nodes that the errors of graphql-js name. */
export type MemberPaths = ReadonlyMap<ASTNode, Place>;

/** What graphql-js says of a required argument, member or argument of a directive; the node is what lacks it. */
const MISSING =
  /^(?:(?:Field|Directive) "@?\w+" argument "(\w+)" of type "[^"]+" is required, but it|Field "\w+\.(\w+)" of required type "[^"]+") was not provided\.$/;
const MEMBERS_OF_INPUT = "";

/**
 * The paths of the arguments in a document, of their members and their values, such as `filter.statuses.0`. In
 * `input` they begin with its members, as in errors of resolvers. In the default of a variable they begin with the
 * variable, as in errors of its value.
 */
export function readMemberPaths(document: DocumentNode): MemberPaths {
  const paths = new Map<ASTNode, Place>();
  const noteMember = (member: ArgumentNode | ObjectFieldNode, path: string, within?: string) => {
    paths.set(member.name, { path, within: `${path}.` });
    paths.set(member, { path, within: `${path}.` });
    noteValue(member.value, path, within);
  };
  const noteValue = (value: ValueNode, path: string, within = `${path}.`) => {
    paths.set(value, { path, within });
    if (value.kind === Kind.LIST)
      for (const [n, item] of value.values.entries()) noteValue(item, `${path}.${n}`);
    if (value.kind === Kind.OBJECT)
      for (const field of value.fields) noteMember(field, `${within}${field.name.value}`);
  };
  visit(document, {
    Argument(argument) {
      const name = argument.name.value;
      noteMember(argument, name, name === "input" ? MEMBERS_OF_INPUT : undefined);
    },
    VariableDefinition({ variable, defaultValue }) {
      if (defaultValue) noteValue(defaultValue, variable.name.value);
    },
  });
  return paths;
}

/** The member or argument that an error is about. A missing one is only known from the message, as clients see it. */
export function findMember(
  paths: MemberPaths,
  { nodes = [] }: Pick<GraphQLError, "nodes">,
  message: string,
): string | undefined {
  const [, argument, member] = MISSING.exec(message) ?? [];
  if (argument !== undefined) return argument;
  for (const node of nodes) {
    const place = paths.get(node);
    if (place) return member === undefined ? place.path : `${place.within}${member}`;
  }
  return undefined;
}
