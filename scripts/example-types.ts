import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { preset } from "@graphql-codegen/client-preset";
import { codegen } from "@graphql-codegen/core";
import { buildASTSchema, buildSchema, lexicographicSortSchema, parse, printSchema } from "graphql";
import apollo from "../examples/apollo-requests/codegen.ts";
import liveJob from "../examples/live-job/codegen.ts";
import urql from "../examples/urql-requests/codegen.ts";

const EXAMPLES = fileURLToPath(new URL("../examples/", import.meta.url));
const CONFIGS = { "live-job": liveJob, "apollo-requests": apollo, "urql-requests": urql };

/**
 * The output of GraphQL Code Generator for the examples that use it, with their own configurations, by path in
 * `examples`. Its command line would do the same, but needs as many packages as all our other test dependencies.
 */
export async function exampleTypes(schemaText: string): Promise<ReadonlyMap<string, string>> {
  const outputs = Object.entries(CONFIGS).flatMap(([example, { generates }]) => {
    const documents = documentsIn(join(EXAMPLES, example, "src"));
    return Object.entries(generates).map(async ([folder, output]) => {
      const files = await codegenFiles(schemaText, documents, folder, output);
      return [...files].map(([path, text]) => [join(example, path), text] as const);
    });
  });
  return new Map((await Promise.all(outputs)).flat());
}

/** The files that the client preset writes into a folder for these documents, by path. */
export async function codegenFiles(
  schemaText: string,
  documents: readonly { readonly location: string; readonly rawSDL: string }[],
  folder: string,
  output: object,
): Promise<ReadonlyMap<string, string>> {
  // Sorted, as the command line does.
  const schema = parse(printSchema(lexicographicSortSchema(buildSchema(schemaText))));
  const files = await preset.buildGeneratesSection({
    ...(output as (typeof liveJob.generates)["src/graphql/"]),
    baseOutputDir: folder,
    schema,
    schemaAst: buildASTSchema(schema),
    documents: documents.map((document) => ({ ...document, document: parse(document.rawSDL) })),
    plugins: [],
    pluginMap: {},
  });
  return new Map(await Promise.all(files.map(async (file) => [file.filename, await codegen(file)] as const)));
}

/** Writes the types next to the code of the examples. */
export async function writeExampleTypes(schemaText: string): Promise<void> {
  for (const [path, text] of await exampleTypes(schemaText)) {
    const file = join(EXAMPLES, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

function documentsIn(folder: string) {
  const paths = readdirSync(folder).filter((name) => name.endsWith(".tsx"));
  return paths.toSorted().flatMap((name) => {
    const location = join(folder, name);
    const code = readFileSync(location, "utf8");
    return [...code.matchAll(/graphql\(`([^`]*)`\)/g)].map(([, rawSDL = ""]) => ({
      location,
      rawSDL,
    }));
  });
}
