import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSchema, type GraphQLSchema, getNamedType, isObjectType, printSchema } from "graphql";
import { readSupergraph } from "../gateway/federation/engine/planning/api-schema.ts";
import { TOPICS } from "../src/events/topics.ts";
import { toOpenApi } from "../src/rest/openapi/openapi.ts";
import { routes } from "../src/rest/routes.ts";
import { modules } from "../subgraphs/modules.ts";
import { writeClientTypes } from "./client-types.ts";
import { composeSupergraph } from "./compose.ts";
import { configurationPage } from "./configuration.ts";
import { envExample } from "./env-example.ts";
import { writeExampleTypes } from "./example-types.ts";
import { readExamples, toManifest } from "./examples.ts";
import { grafanaDashboards } from "./grafana.ts";
import { compareSchemas } from "./schema-changes.ts";
import { lintSchema } from "./schema-lint/schema-lint.ts";

const FOLDER = fileURLToPath(new URL("../schema/", import.meta.url));
const SUBGRAPHS = "subgraphs";
const API = "api.graphql";
const TRUSTED = "trusted-documents.json";

/**
 * The text of every file that this script writes, by path under `schema/`. Throws when the graph does not compose.
 */
export function generateSchema(): ReadonlyMap<string, string> {
  const subgraphs = modules.map(({ build }) => build());
  const supergraph = composeSupergraph(subgraphs);
  const { api } = readSupergraph(supergraph);
  return new Map([
    ...subgraphs.map(({ name, sdl }) => [join(SUBGRAPHS, `${name}.graphql`), toText(sdl)] as const),
    ["supergraph.graphql", toText(supergraph)],
    [API, toText(printSchema(api))],
    [TRUSTED, toText(toManifest(readExamples(api)))],
    ["openapi.json", toText(JSON.stringify(toOpenApi(routes), null, 2))],
    ["events.json", toText(JSON.stringify({ topics: TOPICS, subscriptions: subscriptionsOf(api) }, null, 2))],
  ]);
}

/** Committed files that differ from the generated ones, by path under `schema/`, and those of removed subgraphs. */
export function staleFiles(): readonly string[] {
  const generated = generateSchema();
  const different = [...generated].filter(([path, text]) => readCommitted(path) !== text);
  return [...different.map(([path]) => path), ...committedSubgraphs().filter((path) => !generated.has(path))];
}

function readCommitted(path: string): string | undefined {
  const file = join(FOLDER, path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

function committedSubgraphs(): readonly string[] {
  const folder = join(FOLDER, SUBGRAPHS);
  return existsSync(folder) ? readdirSync(folder).map((name) => join(SUBGRAPHS, name)) : [];
}

/** Every subscription: its arguments, and the fields of its events. */
function subscriptionsOf(api: GraphQLSchema): object {
  const fields = Object.values(api.getSubscriptionType()?.getFields() ?? {});
  return Object.fromEntries(
    fields.map(({ name, description, args, type }) => {
      const event = getNamedType(type);
      const members = isObjectType(event) ? Object.values(event.getFields()) : [];
      return [name, { description, arguments: typesOf(args), event: event.name, fields: typesOf(members) }];
    }),
  );
}

function typesOf(members: readonly { readonly name: string; readonly type: object }[]): object {
  return Object.fromEntries(members.map(({ name, type }) => [name, String(type)]));
}

function toText(body: string): string {
  return `${body.trim()}\n`;
}

/**
 * Reasons not to replace the committed schema by this one: faults in names and descriptions, and changes that break
 * clients of the committed API. `--breaking` allows breaking changes that are intended and in the changelog, but nothing
 * allows to remove what is deprecated before its day.
 */
export function objectionsTo(
  generated: ReadonlyMap<string, string>,
  options: Options = {},
): readonly string[] {
  const api = generated.get(API) ?? "";
  const before = options.before ?? readCommitted(API);
  const { breaking, early } =
    before === undefined ? { breaking: [], early: [] } : compareSchemas(before, api);
  return [...lintSchema(buildSchema(api)), ...early, ...(options.allowBreaking ? [] : breaking)];
}

type Options = { readonly before?: string; readonly allowBreaking?: boolean };

async function write(): Promise<void> {
  const generated = generateSchema();
  const allowBreaking = process.argv.includes("--breaking");
  const objections = objectionsTo(generated, { allowBreaking });
  if (objections.length > 0) {
    console.error(`Nothing was written:\n${objections.map((objection) => `  ${objection}`).join("\n")}`);
    console.error("If the breaking changes are intended: npm run schema -- --breaking");
    process.exitCode = 1;
    return;
  }
  for (const [path, text] of generated) {
    const file = join(FOLDER, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  await writeExampleTypes(generated.get(API) ?? "");
  await writeClientTypes(generated.get(API) ?? "");
  writeFileSync(join(FOLDER, "../docs/configuration.md"), configurationPage());
  writeFileSync(join(FOLDER, "../.env.example"), envExample());
  const dashboards = join(FOLDER, "../docs/deploy/grafana");
  mkdirSync(dashboards, { recursive: true });
  for (const [name, text] of await grafanaDashboards()) writeFileSync(join(dashboards, name), text);
}

function check(): void {
  const stale = staleFiles();
  if (stale.length === 0) return;
  console.error(
    `Out of date, run \`npm run schema\`:\n${stale.map((path) => `  schema/${path}`).join("\n")}`,
  );
  process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--check")) check();
  else await write();
}
