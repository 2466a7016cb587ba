import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Kind, parse, print, visit } from "graphql";
import { composeSupergraph } from "./compose.ts";

/**
 * `npm run schema:router -- DIR accounts=URL inference=URL storage=URL chain=URL` writes the schemas for a
 * third-party router: DIR/supergraph.graphql with these URLs, and DIR/subgraphs/*.graphql for routers that compose
 * by themselves (docs/routers.md).
 */
const FOLDER = new URL("../schema/subgraphs/", import.meta.url);
const USAGE = "npm run schema:router -- DIR accounts=URL inference=URL storage=URL chain=URL";

/**
 * A router would enforce these directives with its own tokens, which ours are not; the subgraphs authorize access to
 * fields themselves. Some routers reject a graph that contains them.
 */
const GUARDS: ReadonlySet<string> = new Set(["authenticated", "requiresScopes", "policy"]);

/** The router schemas, by path. `urls` has one entry per subgraph; throws if one is missing. */
export function routerSchemas(urls: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const subgraphs = readdirSync(FOLDER).map((file) => {
    const name = file.replace(".graphql", "");
    const url = urls[name];
    if (url === undefined || !URL.canParse(url)) throw new Error(`${name} has no URL: ${USAGE}`);
    return { name, url, sdl: withoutGuards(readFileSync(new URL(file, FOLDER), "utf8")) };
  });
  return new Map([
    ["supergraph.graphql", composeSupergraph(subgraphs)],
    ...subgraphs.map(({ name, sdl }) => [join("subgraphs", `${name}.graphql`), sdl] as const),
  ]);
}

function withoutGuards(sdl: string): string {
  const stripped = visit(parse(sdl, { noLocation: true }), {
    Directive: ({ name }) => (GUARDS.has(name.value) ? null : undefined),
    ListValue: (list) => ({
      ...list,
      values: list.values.filter((value) => value.kind !== Kind.STRING || !GUARDS.has(value.value.slice(1))),
    }),
  });
  return `${print(stripped)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, ...places] = process.argv.slice(2);
  if (folder === undefined) throw new Error(USAGE);
  for (const [path, text] of routerSchemas(
    Object.fromEntries(places.map((place) => place.split(/=(.*)/s))),
  )) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
