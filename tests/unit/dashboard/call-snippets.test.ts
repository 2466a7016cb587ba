import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { buildSchema, parse, validate } from "graphql";
import { expect, test } from "vitest";
import { callSnippets } from "../../../gateway/dashboard/app/parts/code/call-snippets.ts";

const TYPES = [
  "CHATBOT",
  "TEXT_TO_IMAGE",
  "IMAGE_EDITING",
  "SPEECH_TO_TEXT",
  "EMBEDDING",
  "TEXT_TO_SPEECH",
  "RERANK",
];
/** A model's id is the provider's: it may have whatever characters. */
const MODEL = `it's a "model"; $(echo no) \\ ok`;

/** The arguments that a shell passes to curl. */
function argumentsOf(code: string): readonly string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${code.replace(/ > sea\.wav$/, "")}`;
  return execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

test.each(TYPES)(
  "%s: the code for curl names the model and the key whatever the model is called",
  (serviceType) => {
    const snippets = callSnippets({ origin: "http://x", secret: "sk-1", model: MODEL, serviceType });
    const [curl] = snippets;
    const args = argumentsOf(curl?.code ?? "");
    expect(args[0]).toMatch(/^http:\/\/x\/v1\//);
    expect(args).toContain("Authorization: Bearer sk-1");
    const body = args[args.indexOf("-d") + 1];
    if (args.includes("-d")) expect(JSON.parse(body ?? "")).toMatchObject({ model: MODEL });
    // With -F, a model whose name begins with @ would be read from a file.
    else expect(args[args.indexOf(`model=${MODEL}`) - 1]).toBe("--form-string");
    for (const { name, code } of snippets) expect(code, name).toContain("sk-1");
  },
);

test.each(TYPES)("%s: the document for the graph is valid", (serviceType) => {
  const snippets = callSnippets({ origin: "http://x", secret: "sk-1", model: MODEL, serviceType });
  const graphql = snippets.find(({ name }) => name === "GraphQL");
  if (!graphql) return;
  const args = argumentsOf(graphql.code);
  const { query, variables } = JSON.parse(args[args.indexOf("-d") + 1] ?? "");
  const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"), { assumeValid: true });
  expect(validate(schema, parse(query))).toEqual([]);
  expect(variables.input.model).toBe(MODEL);
});
