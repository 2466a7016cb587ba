import { expect, test } from "vitest";
import { openSession } from "../../support/callers.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { seedAccount } from "../../support/seed.ts";
import { until } from "../../support/until.ts";
import type { SplitProduct } from "./split-product.ts";

const QUERY = `{ operations {
  processes { role silent circuits { providerAddress pauseEndsAt } }
  queues { unpublishedEventCount } watchers { name phase } ledgerCheck { faultCount } } }`;

type Process = {
  readonly role: string;
  readonly silent: boolean;
  readonly circuits: readonly { readonly providerAddress: string; readonly pauseEndsAt: string | null }[];
};

/** What an operator sees of the processes, and does to all of them. */
export function testOperations(product: () => SplitProduct): void {
  test("an operator sees every process from each gateway, and pauses a provider in all of them", async () => {
    const { database, gateways, operator } = product();
    await seedAccount(database, 0n);
    const session = await openSession({ database }, operator);
    const read = async (n: 0 | 1): Promise<{ readonly processes: readonly Process[] }> => {
      const { data, errors } = await ask(gateways[n].origin, session, QUERY);
      expect(errors ?? []).toEqual([]);
      return data.operations;
    };
    for (const n of [0, 1] as const) {
      const { processes } = await until(async () => {
        const found = await read(n);
        // Those of earlier tests are still listed.
        const running = found.processes.filter(({ silent }) => !silent);
        return running.length === 7 && { processes: running };
      });
      expect(processes.map(({ role }) => role).toSorted()).toEqual([
        "gateway",
        "gateway",
        "subgraph:accounts",
        "subgraph:chain",
        "subgraph:inference",
        "subgraph:storage",
        "worker",
      ]);
    }
    const act = async (mutation: string) => {
      const { data, errors } = await ask(gateways[1].origin, session, `mutation { ${mutation} }`);
      expect(errors ?? []).toEqual([]);
      return Object.values(data)[0];
    };
    const providers = await ask(
      gateways[0].origin,
      session,
      "{ models(first: 1) { nodes { providers { address } } } }",
    );
    const address = providers.data.models.nodes[0].providers[0].address;
    const pause = `pauseProvider(input: { providerAddress: "${address}", seconds: 60 }) { userErrors { code } }`;
    expect(await act(pause)).toEqual({ userErrors: [] });
    const paused = async () =>
      (await read(0)).processes.filter(({ circuits }) => circuits.some(({ pauseEndsAt }) => pauseEndsAt))
        .length;
    await until(async () => (await paused()) === 7);
    await act(`closeProviderCircuits(input: { providerAddress: "${address}" }) { userErrors { code } }`);
    await until(async () => (await paused()) === 0);
    expect(await act("verifyLedger { check { faultCount } }")).toEqual({ check: { faultCount: 0 } });
  });
}
