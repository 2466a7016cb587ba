import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { codegenFiles } from "./example-types.ts";

const FOLDER = fileURLToPath(new URL("../packages/client/src/operations/", import.meta.url));
const OUTPUT = "graphql.ts";

/** The typed operations of `packages/client`, from its `.graphql` files, by GraphQL Code Generator. */
export async function clientTypes(schemaText: string): Promise<string> {
  const documents = readdirSync(FOLDER)
    .filter((name) => name.endsWith(".graphql"))
    .toSorted()
    .map((name) => ({ location: join(FOLDER, name), rawSDL: readFileSync(join(FOLDER, name), "utf8") }));
  const files = await codegenFiles(schemaText, documents, FOLDER, {
    preset: "client",
    presetConfig: { fragmentMasking: false },
    config: {
      documentMode: "string",
      enumsAsTypes: true,
      useTypeImports: true,
      scalars: {
        Address: "string",
        BigInt: "string",
        Cursor: "string",
        DateTime: "string",
        Hash32: "string",
        Hex: "string",
        Neuron: "string",
      },
      defaultScalarType: "unknown",
      importExtension: ".ts",
    },
  });
  const text = files.get(join(FOLDER, OUTPUT));
  if (text === undefined) throw new Error(`the generator did not write ${OUTPUT}`);
  return (
    text
      .replace("'@graphql-typed-document-node/core'", '"../core/document.ts"')
      // A bundler then leaves out the operations that a page does not use.
      .replaceAll("= new TypedDocumentString(", "= /* @__PURE__ */ new TypedDocumentString(")
  );
}

/** Writes them next to the operations. */
export async function writeClientTypes(schemaText: string): Promise<void> {
  writeFileSync(join(FOLDER, OUTPUT), await clientTypes(schemaText));
}

/** What is committed. */
export function committedClientTypes(): string {
  return readFileSync(join(FOLDER, OUTPUT), "utf8");
}
