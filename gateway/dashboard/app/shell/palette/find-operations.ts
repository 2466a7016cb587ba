import type { Found } from "../routes/page.ts";

type Operation = {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
};
type Description = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };

const METHODS = new Set(["get", "post", "put", "patch", "delete"]);
const MAX_FOUND = 5;

let described: Promise<Description> | undefined;

/** The operations of the REST API whose path or summary has every word of a text. */
export async function findOperations(text: string): Promise<readonly Found[]> {
  described ??= fetch("/openapi.json").then((response) => response.json());
  // What failed to load is loaded again.
  const { paths } = await described.catch((error: unknown) => {
    described = undefined;
    throw error;
  });
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return Object.entries(paths)
    .flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method]) => METHODS.has(method))
        .map(([method, operation]) => toFound(`${method.toUpperCase()} ${path}`, operation)),
    )
    .filter(({ name, detail }) => words.every((word) => `${name} ${detail}`.toLowerCase().includes(word)))
    .slice(0, MAX_FOUND);
}

function toFound(name: string, { operationId = "", summary = "", tags = [] }: Operation) {
  const href = `/docs/#/${encodeURIComponent(tags[0] ?? "default")}/${encodeURIComponent(operationId)}`;
  return { id: name, name, detail: summary, to: "/", href };
}
