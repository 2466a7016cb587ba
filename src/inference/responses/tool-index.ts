import type { CallableTool, NamespaceTool, Tool } from "./response-tools.ts";

/** A tool, and its namespace if it is in one. */
export type Offered = { readonly tool: CallableTool; readonly namespace?: NamespaceTool };

/** The tools of one type and name: the first outside of namespaces, and the first of each namespace. */
type Named = { outside?: Offered; readonly within: Map<unknown, Offered> };

/** The tools of a request by type, name and namespace. A request may choose among thousands of them, one by one. */
export class ToolIndex {
  readonly all: readonly Offered[];
  readonly #firsts = new Map<unknown, Offered>();
  readonly #names = new Map<unknown, Map<unknown, Named>>();
  readonly #groups = new Map<unknown, Offered[]>();

  constructor(tools: readonly Tool[]) {
    this.all = tools.flatMap(offeredBy);
    for (const offered of this.all) this.#add(offered);
  }

  /** The first tool of this type. */
  firstOf(type: unknown): Offered | undefined {
    return this.#firsts.get(type);
  }

  /** All tools of a namespace. */
  group(namespace: string): readonly Offered[] {
    return this.#groups.get(namespace) ?? [];
  }

  /** The first tool of this type and name: without a `namespace`, one outside of namespaces if there is any. */
  find(type: unknown, name: string, namespace: unknown): Offered | undefined {
    const named = this.#names.get(type)?.get(name);
    if (namespace !== null) return named?.within.get(namespace);
    return named?.outside ?? named?.within.values().next().value;
  }

  #add(offered: Offered): void {
    const { tool, namespace } = offered;
    if (!this.#firsts.has(tool.type)) this.#firsts.set(tool.type, offered);
    const names = entryOf(this.#names, tool.type, () => new Map<unknown, Named>());
    const named = entryOf(names, tool.name, (): Named => ({ within: new Map() }));
    if (!namespace) {
      named.outside ??= offered;
      return;
    }
    entryOf(named.within, namespace.name, () => offered);
    entryOf(this.#groups, namespace.name, () => []).push(offered);
  }
}

function offeredBy(tool: Tool): readonly Offered[] {
  return tool.type === "namespace"
    ? tool.tools.map((grouped) => ({ tool: grouped, namespace: tool }))
    : [{ tool }];
}

function entryOf<Value>(map: Map<unknown, Value>, key: unknown, create: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const value = create();
  map.set(key, value);
  return value;
}
