import { readFile, stat } from "node:fs/promises";
import { AppError, StartupError } from "../../../kernel/errors.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import type { ProviderSource } from "../catalogue.service.ts";
import type { Provider } from "../provider.ts";
import { readProvidersFile } from "./providers-file.ts";

type Dependencies = {
  readonly path: string;
  /** Reads an environment variable. */
  readonly variable: (name: string) => string | undefined;
};

/** Visible ASCII, with spaces in between. */
const HEADER_TEXT = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The offers of PROVIDERS_FILE, reread on every load, and the API keys of their servers. */
export class FileProviders implements ProviderSource {
  readonly #dependencies: Dependencies;
  #keys: ReadonlyMap<string, string> = new Map();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Throws a `StartupError` that names the file and the problem. */
  async load(): Promise<readonly Provider[]> {
    const { path, variable } = this.#dependencies;
    try {
      const [text, { mtime }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
      const servers = readProvidersFile(text, mtime);
      this.#keys = new Map(
        servers.flatMap(({ keyVariable, offers }) => {
          const key = keyVariable === undefined ? "" : variable(keyVariable);
          if (key === undefined) throw new Error(`the environment variable ${keyVariable} is not set`);
          if (key !== "" && !HEADER_TEXT.test(key))
            throw new Error(
              `the environment variable ${keyVariable} contains characters that are not allowed in a header`,
            );
          return offers.map(({ address }) => [address as string, key] as const);
        }),
      );
      return servers.flatMap(({ offers }) => offers);
    } catch (cause) {
      throw new StartupError(`PROVIDERS_FILE ${path}: ${(cause as Error).message}`, { cause });
    }
  }

  /**
   * The key of an offer's server, "" if it has none. Throws `no_available_provider` for an offer that the file does not
   * have any more.
   */
  keyOf(offer: Hex): string {
    const key = this.#keys.get(offer);
    if (key === undefined)
      throw new AppError("no_available_provider", "The provider is not offered any more.");
    return key;
  }
}
