import { hash } from "node:crypto";
import { invalidField } from "../body/invalid-field.ts";
import type { Tool } from "./response-tools.ts";

/** A function as the client names it. */
export type FunctionName = { readonly name: string; readonly namespace: string };

/** Functions in namespaces, by their names in a chat. */
export type FunctionNames = ReadonlyMap<string, FunctionName>;

/** OpenAI's limits on the name of a function of a chat. */
const MAX_LENGTH = 64;
const OTHER_CHARACTERS = /[^A-Za-z0-9_-]/g;
const DIGEST_LENGTH = 8;
/** A client that looks for names whose digests are equal only finds that its request is refused. */
const MAX_DIGESTS = 100;

/**
 * The names that the functions of a request have in a chat, which has no namespaces: `namespace__name` where that is a
 * valid name and no other function has it, else its end and a digest. The same functions in the same order have the
 * same names in each request, so that prompts stay cached.
 */
export class ChatNames {
  /** By namespace, then by name. */
  readonly #names = new Map<string, Map<string, string>>();
  readonly #functions = new Map<string, FunctionName>();
  readonly #taken = new Set<string>();

  constructor(tools: readonly Tool[]) {
    for (const tool of tools) if (tool.type === "function") this.#taken.add(tool.name);
    for (const tool of tools)
      if (tool.type === "namespace")
        for (const { name } of tool.tools) if (typeof name === "string") this.of(name, tool.name);
  }

  /** The functions in namespaces that were named so far, by their names in the chat. */
  get functions(): FunctionNames {
    return this.#functions;
  }

  /** The name in the chat, also of a function that is not one of the tools any more. */
  of(name: string, namespace: string | undefined): string {
    if (namespace === undefined) return name;
    const names = this.#names.get(namespace) ?? new Map<string, string>();
    const known = names.get(name);
    if (known !== undefined) return known;
    const chosen = this.#free(JSON.stringify([namespace, name]), `${namespace}__${name}`);
    this.#names.set(namespace, names.set(name, chosen));
    this.#taken.add(chosen);
    this.#functions.set(chosen, { name, namespace });
    return chosen;
  }

  #free(key: string, joined: string): string {
    const valid = joined.replace(OTHER_CHARACTERS, "_");
    if (valid === joined && joined.length <= MAX_LENGTH && !this.#taken.has(joined)) return joined;
    const end = valid.slice(-(MAX_LENGTH - DIGEST_LENGTH - 1));
    for (let attempt = 0; attempt < MAX_DIGESTS; attempt++) {
      const digest = hash("sha256", `${attempt} ${key}`, "hex").slice(0, DIGEST_LENGTH);
      if (!this.#taken.has(`${end}_${digest}`)) return `${end}_${digest}`;
    }
    throw invalidField("tools", "too many functions have similar names");
  }
}
