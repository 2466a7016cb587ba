import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { type GraphQLSchema, getOperationAST, parse, print, validate } from "graphql";

const FOLDER = new URL("../schema/examples/", import.meta.url);

/** An operation that shows a feature: `file` is the file name without extension, `name` its GraphQL spelling. */
export type Example = { readonly file: string; readonly name: string; readonly text: string };

/** The example operations, by file. Throws if one is invalid against the schema or not named after its file. */
export function readExamples(schema: GraphQLSchema): readonly Example[] {
  return readdirSync(FOLDER)
    .sort()
    .map((path) => {
      const file = path.replace(/\.graphql$/, "");
      const document = parse(readFileSync(new URL(path, FOLDER), "utf8"), { noLocation: true });
      const faults = validate(schema, document).map(({ message }) => message);
      const name = getOperationAST(document)?.name?.value ?? "";
      if (name !== toName(file)) faults.push(`its only operation must be named ${toName(file)}`);
      if (faults.length > 0) throw new Error(`schema/examples/${path}: ${faults.join("; ")}`);
      return { file, name, text: print(document) };
    });
}

/** The examples as trusted documents in Apollo's manifest format, for `TRUSTED_DOCUMENTS`. Ids are SHA-256 of the text. */
export function toManifest(examples: readonly Example[]): string {
  const operations = examples.map(({ name, text }) => ({
    id: createHash("sha256").update(text).digest("hex"),
    name,
    type: getOperationAST(parse(text))?.operation,
    body: text,
  }));
  return JSON.stringify({ format: "apollo-persisted-query-manifest", version: 1, operations }, null, 2);
}

function toName(file: string): string {
  return file.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
