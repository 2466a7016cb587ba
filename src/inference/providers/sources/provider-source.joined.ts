import { StartupError } from "../../../kernel/errors.ts";
import type { Logger } from "../../../kernel/log.ts";
import type { ProviderSource } from "../catalogue.service.ts";
import type { Provider } from "../provider.ts";

/**
 * Combines the offers of several sources. A source that cannot be read keeps its last offers, so that it does not
 * affect the others; an invalid configuration at startup is thrown for the operator to fix.
 */
export function joinedProviders(sources: readonly ProviderSource[], log: Logger): ProviderSource {
  const known = new Map<ProviderSource, readonly Provider[]>();
  return {
    async load() {
      const results = await Promise.allSettled(
        sources.map(async (source) => void known.set(source, await source.load())),
      );
      const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
      const invalid = failures.find((failure) => failure instanceof StartupError);
      if (invalid && known.size < sources.length) throw invalid;
      if (failures.length === sources.length) throw failures[0];
      for (const err of failures) log.warn({ err }, "refreshing some of the providers failed");
      return sources.flatMap((source) => known.get(source) ?? []);
    },
  };
}
