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

/**
 * A target without its path's trailing slash, if the path is known without that slash: `/v1/models/` is `/v1/models`.
 */
export function withoutTrailingSlash(target: string, known: KnownPaths): string {
  const end = target.indexOf("?");
  const path = end < 0 ? target : target.slice(0, end);
  if (path.length < 2 || !path.endsWith("/")) return target;
  const trimmed = path.slice(0, -1);
  return known.methodsOf(trimmed).length > 0 ? trimmed + target.slice(path.length) : target;
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
