import { GraphQLError, Kind } from "graphql";
import mercurius, { type MercuriusOptions } from "mercurius";

type Format = NonNullable<MercuriusOptions["errorFormatter"]>;

/** Mercurius' format of errors; those of variables have the code of our own gateway, and the variable as `param`. */
export const formatErrors: Format = (execution, context) => {
  for (const error of execution.errors.flatMap(partsOf)) {
    const [node] = error.nodes ?? [];
    if (node?.kind !== Kind.VARIABLE_DEFINITION || error.extensions.code !== undefined) continue;
    Object.assign(error.extensions, { code: "invalid_parameter", param: node.variable.name.value });
  }
  return mercurius.defaultErrorFormatter(execution, context);
};

/** The errors behind an error of Mercurius for a whole request. */
function partsOf({ originalError }: GraphQLError): readonly GraphQLError[] {
  const { errors } = Object(originalError) as { readonly errors?: unknown };
  return Array.isArray(errors) ? errors.filter((error) => error instanceof GraphQLError) : [];
}
