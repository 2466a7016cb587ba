import { expect, test } from "vitest";
import { CatalogueService, type ProviderSource } from "../../../src/inference/providers/catalogue.service.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { joinedProviders } from "../../../src/inference/providers/sources/provider-source.joined.ts";
import { StartupError } from "../../../src/kernel/errors.ts";
import { createLogger } from "../../../src/kernel/log.ts";

const log = createLogger("silent");
const offer = (address: string) => ({ address, model: "m", serviceType: "chatbot" }) as unknown as Provider;

/** A source whose next loads the test decides. */
function scripted(...offers: readonly Provider[]) {
  const source: ProviderSource & { failure: Error | undefined } = {
    failure: undefined,
    async load() {
      if (source.failure) throw source.failure;
      return offers;
    },
  };
  return source;
}

function open() {
  const [chain, file] = [scripted(offer("0xa")), scripted(offer("0xb"))];
  const catalogue = new CatalogueService({
    source: joinedProviders([chain, file], log),
    log,
    refreshMs: 3_600_000,
  });
  const offered = () => catalogue.providers().map(({ address }) => address);
  return { chain, file, catalogue, offered };
}

test("an invalid file stops the start, also while the chain cannot be read", async () => {
  for (const outage of [undefined, new Error("no endpoint answers")]) {
    const { chain, file, catalogue } = open();
    chain.failure = outage;
    file.failure = new StartupError("PROVIDERS_FILE providers.json: it is not valid JSON");
    await expect(catalogue.start()).rejects.toBe(file.failure);
  }
});

test("a source that cannot be read keeps its offers, and those of the others are read", async () => {
  const { chain, file, catalogue, offered } = open();
  chain.failure = new Error("no endpoint answers");
  await catalogue.start();
  catalogue.stop();
  expect(offered()).toEqual(["0xb"]);
  chain.failure = undefined;
  file.failure = new StartupError("PROVIDERS_FILE providers.json: it is not valid JSON");
  await catalogue.refresh();
  expect(offered()).toEqual(["0xa", "0xb"]);
});
