import { expect, test } from "vitest";
import { CatalogueService } from "../../../src/inference/providers/catalogue.service.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { offer } from "../../support/inference/offers.ts";

const log = createLogger("silent", { write: () => undefined });

/** A catalogue whose reads of its source end when the test resolves or rejects them. */
function openCatalogue() {
  const reads: PromiseWithResolvers<readonly Provider[]>[] = [];
  const load = () => {
    const read = Promise.withResolvers<readonly Provider[]>();
    reads.push(read);
    return read.promise;
  };
  return { reads, catalogue: new CatalogueService({ source: { load }, log, refreshMs: 60_000 }) };
}

test("when reads overlap, the one that started last wins, in whatever order they end", async () => {
  const { reads, catalogue } = openCatalogue();
  const refreshes = [catalogue.refresh(), catalogue.refresh()];
  reads[1]?.resolve([offer(2)]);
  await refreshes[1];
  reads[0]?.resolve([offer(1)]);
  await refreshes[0];
  expect(catalogue.providers()).toEqual([offer(2)]);
});

test("a failed read changes nothing, and does not discard an earlier one that ends after it", async () => {
  const { reads, catalogue } = openCatalogue();
  const refreshes = [catalogue.refresh(), catalogue.refresh()];
  reads[1]?.reject(new Error("the node is down"));
  await expect(refreshes[1]).rejects.toThrow("the node is down");
  expect(catalogue.providers()).toEqual([]);
  reads[0]?.resolve([offer(1)]);
  await refreshes[0];
  expect(catalogue.providers()).toEqual([offer(1)]);
});
