import {
  isObject,
  type ResponsePath,
  type SubgraphError,
  type SubgraphResult,
} from "./engine/subgraph-executor.ts";

/**
 * Reads the answer of a subgraph in another process; undefined for one that is not a GraphQL result. Nor is one whose
 * errors cannot be read, as the nulls that they explain would look like data.
 */
export function readAnswer(body: unknown): SubgraphResult | undefined {
  if (!isObject(body)) return undefined;
  const data = isObject(body.data) ? body.data : null;
  const given = body.errors ?? undefined;
  const errors = readErrors(given);
  if (given === undefined ? !data : !errors) return undefined;
  return { data, ...(errors && { errors }) };
}

/** The errors of a list that have a message; undefined if there are others only. */
export function readErrors(errors: unknown): readonly SubgraphError[] | undefined {
  if (!Array.isArray(errors)) return undefined;
  const read = errors.flatMap((error: unknown) => readError(error) ?? []);
  return read.length > 0 || errors.length === 0 ? read : undefined;
}

function readError(error: unknown): SubgraphError | undefined {
  if (!isObject(error)) return undefined;
  const { message, path, extensions } = error;
  if (typeof message !== "string") return undefined;
  const at = readPath(path);
  return { message, ...(at && { path: at }), ...(isObject(extensions) && { extensions }) };
}

/** Mercurius sends list positions as strings over HTTP; no response key is a number. */
function readPath(path: unknown): ResponsePath | undefined {
  if (!Array.isArray(path)) return undefined;
  const keys = path.filter((key: unknown) => typeof key === "string" || typeof key === "number");
  return keys.length === path.length
    ? keys.map((key) => (/^\d+$/.test(String(key)) ? Number(key) : key))
    : undefined;
}
