import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  buildSchema,
  type DocumentNode,
  type GraphQLNamedType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  parse,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from "graphql";

/** The example for Relay, whose `src/__generated__` relay-compiler writes. */
export const RELAY_EXAMPLE = fileURLToPath(new URL("../examples/relay-requests/", import.meta.url));
/** What of the schema those artifacts rest on: when that changes, they are to be written again. */
export const RELAY_SCHEMA_USE = join(RELAY_EXAMPLE, "schema-use.txt");

/** The operations in the artifacts. */
export function relayOperations(): readonly DocumentNode[] {
  const folder = join(RELAY_EXAMPLE, "src/__generated__");
  return readdirSync(folder).flatMap((name) => {
    const [, text] = /^ {4}"text": (".*")$/m.exec(readFileSync(join(folder, name), "utf8")) ?? [];
    return text ? [parse(JSON.parse(text) as string)] : [];
  });
}

/** A line for each field, argument, enum and input type that the operations use. */
export function schemaUse(schemaText: string, operations: readonly DocumentNode[]): string {
  const schema = buildSchema(schemaText);
  const lines = new Set<string>();
  const types = new TypeInfo(schema);
  for (const operation of operations)
    visit(
      operation,
      visitWithTypeInfo(types, {
        VariableDefinition({ type }) {
          addType(lines, getNamedType(typeFromAST(schema, type as Parameters<typeof typeFromAST>[1])));
        },
        Field({ name, arguments: given = [] }) {
          const field = types.getFieldDef();
          const used = given.map((one) => field?.args.find((arg) => arg.name === one.name.value));
          const list = used.map((arg) => `${arg?.name}: ${arg?.type}`).join(", ");
          lines.add(`${types.getParentType()}.${name.value}${list && `(${list})`}: ${types.getType()}`);
          addType(lines, getNamedType(types.getType()));
        },
      }),
    );
  return `${[...lines].toSorted().join("\n")}\n`;
}

/** An enum, or an input type with all that is in it. */
function addType(lines: Set<string>, type: GraphQLNamedType | null | undefined): void {
  if (isEnumType(type))
    lines.add(
      `${type}: ${type
        .getValues()
        .map(({ name }) => name)
        .join(" ")}`,
    );
  if (!isInputObjectType(type)) return;
  for (const field of Object.values(type.getFields())) {
    const line = `${type}.${field.name}: ${field.type}`;
    if (lines.has(line)) continue;
    lines.add(line);
    addType(lines, getNamedType(field.type));
  }
}

/** Runs relay-compiler, which npm fetches: its package has the binaries of every platform, 118 MB. */
function writeRelayTypes(): void {
  const { devDependencies } = JSON.parse(readFileSync(join(RELAY_EXAMPLE, "package.json"), "utf8"));
  const name = `relay-compiler@${devDependencies["relay-compiler"]}`;
  execFileSync("npm", ["exec", "--yes", "--", name, "relay.config.json"], {
    cwd: RELAY_EXAMPLE,
    stdio: "inherit",
  });
  const schemaText = readFileSync("schema/api.graphql", "utf8");
  writeFileSync(RELAY_SCHEMA_USE, schemaUse(schemaText, relayOperations()));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeRelayTypes();
