import type { ExecutionResult, GraphQLError } from "graphql";
import {
  isInParts,
  type Part,
  type ResultInParts,
} from "../../../../gateway/federation/engine/incremental/parts.ts";

/** A result in parts as a client has it when all are merged. */
export type Merged = {
  readonly data: unknown;
  readonly errors: readonly { readonly path?: unknown; readonly message: string }[];
  /** The paths of fragments and lists that could not be delivered. */
  readonly failed: readonly unknown[];
  readonly parts: readonly Part[];
};

/** Reads all parts and merges them as clients do. Throws when they break the protocol. */
export async function mergeParts(result: ExecutionResult | ResultInParts): Promise<Merged> {
  if (!isInParts(result))
    return { data: copy(result.data), errors: result.errors ?? [], failed: [], parts: [] };
  const { first, pending, rest } = result;
  const data = copy(first.data);
  for (const error of first.errors ?? []) requireDelivered(data, error);
  const errors = [...(first.errors ?? [])];
  const failed: unknown[] = [];
  const parts: Part[] = [];
  const open = new Map(pending.map((one) => [one.id, one]));
  const need = (id: string, path: readonly (string | number)[]) => {
    if (!open.has(id)) throw new Error(`${id} is delivered without being pending`);
    return at(data, path);
  };
  for await (const part of rest) {
    if (parts.at(-1)?.hasNext === false) throw new Error("a part follows the last one");
    parts.push(part);
    for (const one of part.delivered) {
      const target = need(one.id, one.path);
      errors.push(...one.errors);
      if (one.kind === "fragment") merge(target, copy(one.data) as object);
      else {
        const list = target as unknown[];
        if (list.length !== one.at) throw new Error(`items from ${one.at} on follow ${list.length} ones`);
        list.push(...(copy(one.items) as unknown[]));
      }
    }
    for (const error of part.delivered.flatMap((one) => one.errors)) requireDelivered(data, error);
    for (const one of part.pending) {
      if (open.has(one.id)) throw new Error(`${one.id} is used twice`);
      open.set(one.id, one);
      need(one.id, one.path);
    }
    for (const one of part.completed) {
      if (!open.delete(one.id)) throw new Error(`${one.id} is completed twice`);
      if (!one.errors) continue;
      errors.push(...one.errors);
      failed.push(one.path);
    }
  }
  if (open.size > 0) throw new Error(`${[...open.keys()]} were not completed`);
  if (parts.at(-1)?.hasNext !== false) throw new Error("the last part does not say so");
  return { data, errors, failed, parts };
}

/** An error comes with the part whose null it explains, not before. */
function requireDelivered(data: unknown, { path = [], message }: GraphQLError): void {
  let at = data;
  for (const key of path) {
    if (typeof at !== "object" || at === null) return;
    if (!Object.hasOwn(at, key)) throw new Error(`"${message}" is reported before ${path.join(".")}`);
    at = (at as Record<string | number, unknown>)[key];
  }
}

function copy(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function at(data: unknown, path: readonly (string | number)[]): unknown {
  const found = path.reduce<unknown>((value, key) => Object(value)[key], data);
  if (typeof found !== "object" || found === null) throw new Error(`nothing is at ${path.join(".")}`);
  return found;
}

function merge(target: unknown, source: object): void {
  const into = target as Record<string, unknown>;
  for (const [key, value] of Object.entries(source)) {
    const before = into[key];
    if (typeof before === "object" && before !== null) {
      if (typeof value !== "object" || value === null) throw new Error(`${key} is replaced`);
      merge(before, value);
    } else into[key] = value;
  }
}
