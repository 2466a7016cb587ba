import {
  coerceInputValue,
  type GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  isInputType,
  isNonNullType,
  type OperationDefinitionNode,
  typeFromAST,
  valueFromASTUntyped,
} from "graphql";
import type { ErrorCode } from "../../../src/kernel/errors.ts";
import { LocatedError } from "./located-error.ts";

/** Values of variables, as JSON. */
export type Variables = Readonly<Record<string, unknown>>;

const MAX_FAULTS = 20;
const INVALID = "invalid_parameter";
const INVALID_CURSOR = "invalid_cursor";

/** The variables that an operation declares, out of those that a client sent: others have no effect. */
export function declaredIn(
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Variables,
): Variables {
  const declared: Record<string, unknown> = {};
  for (const { variable } of variableDefinitions) {
    const name = variable.name.value;
    if (Object.hasOwn(given, name)) declared[name] = given[name];
  }
  return declared;
}

/** The defaults of an operation's variables, as JSON. */
export function defaultsOf({ variableDefinitions = [] }: OperationDefinitionNode): Variables {
  return Object.fromEntries(
    variableDefinitions.flatMap(({ variable, defaultValue }) =>
      defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
    ),
  );
}

type FaultOptions = {
  /** Whether names of the schema are left out. */
  readonly hidesNames: boolean;
  /** The argument or input field that a variable is given for. */
  readonly fieldOf: (variable: string) => string | undefined;
};

/**
 * Reports which variables are invalid for their types, by path. The values are not repeated, as they may be as large
 * as the request. A cursor that no server issued is `invalid_cursor` and names its argument, as when a list refuses it.
 */
export function findVariableFaults(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Variables,
  { hidesNames, fieldOf }: FaultOptions,
): readonly GraphQLError[] {
  const faults: GraphQLError[] = [];
  for (const { variable, type: typeNode, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    const type = typeFromAST(schema, typeNode);
    if (!isInputType(type)) continue;
    const value = given[name];
    if (value === undefined || (value === null && isNonNullType(type))) {
      if (isNonNullType(type) && !(value === undefined && defaultValue))
        faults.push(fault(`Variable "$${name}" is required.`, name));
      continue;
    }
    for (const { path, error } of coercionFaults(value, type)) {
      const place = path.length > 0 ? ` at "${[name, ...path].join(".")}"` : "";
      const reason = hidesNames && error.extensions.code === undefined ? "." : `: ${withoutValue(error)}`;
      const isCursor = error.extensions.code === INVALID_CURSOR;
      const missing = hidesNames ? [] : (MISSING.exec(error.message)?.slice(1) ?? []);
      const param = (isCursor && path.length === 0 && fieldOf(name)) || [name, ...path, ...missing].join(".");
      faults.push(
        fault(
          `Variable "$${name}" has an invalid value${place}${reason}`,
          param,
          isCursor ? INVALID_CURSOR : INVALID,
        ),
      );
    }
    if (faults.length >= MAX_FAULTS) break;
  }
  return faults;
}

/** What graphql-js says of a required field; its path is that of the object. */
const MISSING = /^Field "(\w+)" of required type "[^"]+" was not provided\.$/;

/** What is wrong with a value, without the value itself, which graphql-js repeats for its own scalars and enums. */
function withoutValue({ message }: GraphQLError): string {
  return message
    .replace(/^(\w+ cannot represent [^:]+): [\s\S]*$/, "$1.")
    .replace(/^(Enum "\w+" cannot represent [^:]+): [\s\S]*?(?=\. Did you mean|\.?$)/, "$1")
    .replace(/^Value "[\s\S]*" does not exist in "(\w+)" enum/, 'The value does not exist in "$1" enum');
}

type CoercionFault = { readonly path: readonly (string | number)[]; readonly error: GraphQLError };

/** Created once: an error records its stack, which took as long as all else here. */
const ENOUGH = new Error("enough faults were found");

/** The errors of graphql-js for a value: only the first ones if there are many. */
function coercionFaults(value: unknown, type: GraphQLInputType): readonly CoercionFault[] {
  const found: CoercionFault[] = [];
  try {
    coerceInputValue(value, type, (path, _value, error) => {
      found.push({ path, error });
      if (found.length >= MAX_FAULTS) throw ENOUGH;
    });
  } catch (error) {
    if (error !== ENOUGH) throw error;
  }
  return found;
}

function fault(message: string, param: string, code: ErrorCode = INVALID): GraphQLError {
  return new LocatedError(message, code, { param });
}
