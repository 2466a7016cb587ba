import { StartupError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import type { ProviderSource } from "./catalogue.service.ts";
import type { Provider } from "./provider.ts";

/**
 * The offers of several sources together. One that cannot be read keeps what it said last, so that it takes nothing
 * from the others; one whose configuration was wrong from the start is the operator's to mend.
 */
export function joinedProviders(sources: readonly ProviderSource[], log: Logger): ProviderSource {
  const known = new Map<ProviderSource, readonly Provider[]>();
  return {
    async load() {
      const results = await Promise.allSettled(
        sources.map(async (source) => void known.set(source, await source.load())),
      );
      const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
      const [failure] = failures;
      if (failure instanceof StartupError && known.size < sources.length) throw failure;
      if (failures.length === sources.length) throw failure;
      for (const err of failures) log.warn({ err }, "reading a part of the providers failed");
      return sources.flatMap((source) => known.get(source) ?? []);
    },
  };
}
