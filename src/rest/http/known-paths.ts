/** The methods that a path supports, by the URLs of the mounted routes. */
export class KnownPaths {
  readonly #routes = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();

  /** Adds a route by its URL in Fastify's syntax: `/file/:root/*`. */
  add(url: string, methods: string | readonly string[]): void {
    const known = this.#routes.get(url) ?? { pattern: toPattern(url), methods: new Set<string>() };
    for (const method of [methods].flat()) known.methods.add(method);
    this.#routes.set(url, known);
  }

  /** The methods of a path, sorted; empty for an unknown path. */
  methodsOf(path: string): readonly string[] {
    const readable = decodedPath(path);
    const found = [...this.#routes.values()].filter(({ pattern }) => pattern.test(readable));
    return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort();
  }
}

/** Paths that official clients use for endpoints of the same shape: Cohere's present ones rank by this. */
const ALIASES: ReadonlyMap<string, string> = new Map([["/v2/rerank", "/v1/rerank"]]);

/**
 * The target that a request is routed by: an alias is replaced, and the trailing slash of a path is removed if the path
 * is known without it, so that `/v1/models/` is `/v1/models`.
 */
export function routedTarget(target: string, known: KnownPaths): string {
  const end = target.indexOf("?");
  const path = end < 0 ? target : target.slice(0, end);
  const trimmed = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  const routed = ALIASES.get(trimmed) ?? trimmed;
  if (routed === path || known.methodsOf(routed).length === 0) return target;
  return routed + target.slice(path.length);
}

/** A path as it is matched against routes: decoded, except for encoded slashes. */
export function decodedPath(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function toPattern(url: string): RegExp {
  const text = url
    .replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&")
    .replaceAll(/:\w+/g, "[^/]+")
    .replaceAll("*", ".*");
  return new RegExp(`^${text}$`, "s");
}
