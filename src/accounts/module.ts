import type { AppContext, Lifecycle } from "../app-context.ts";
import type { ChainModule } from "../chain/module.ts";
import { addressOf } from "../chain/networks.ts";
import { VaultClient } from "../chain/vault.client.ts";
import { BusListener } from "../events/bus-listener.ts";
import type { RunningClaims } from "../idempotency/running-claims.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { BalanceService } from "./balance.service.ts";
import { TagBudgetsService } from "./budgets/tag-budgets.service.ts";
import { DepositsService } from "./deposits.service.ts";
import { FundsService } from "./funds.service.ts";
import { HoldsService } from "./holds.service.ts";
import { LedgerService } from "./ledger.service.ts";
import { RetentionRunner } from "./retention/retention.runner.ts";
import { policyOf, RetentionService } from "./retention/retention.service.ts";
import { UsageService } from "./usage/usage.service.ts";
import { UsageRollups } from "./usage/usage-rollups.service.ts";
import { toVaultEvent } from "./vault-event.ts";

/** The services of accounts. */
export type AccountServices = {
  readonly balances: BalanceService;
  readonly funds: FundsService;
  readonly usage: UsageService;
  readonly deposits: DepositsService;
  readonly holds: HoldsService;
  readonly tagBudgets: TagBudgetsService;
};

/** The services of accounts and their background work. */
export type AccountModule = Lifecycle & { readonly services: AccountServices };

/** The name of the watcher that reads deposits from the chain. */
const WATCHER = "deposits";

/** Creates the services of accounts. */
export function createAccountModule(
  parts: AppContext,
  { services: { chain }, confirmations, follow }: ChainModule,
  { claims, observer }: { readonly claims: RunningClaims; readonly observer: Metrics | undefined },
): AccountModule {
  const { config, network, log, clock, processClock, rpc, database, bus, committed } = parts;
  const vault = config.VAULT_ADDRESS ?? addressOf(network, "routerVault");
  const balances = new BalanceService(database, clock);
  const holds = new HoldsService({ database, clock: processClock, log, committed, claims, observer });
  const recalls = new BusListener({
    bus,
    topic: "allotment.recalled",
    onEvent: ({ data }) => holds.recalled(data.account),
    onLost: (error) => log.warn({ err: error }, "recalls are not received; they are read every half second"),
  });
  recalls.start();
  const rollups = new UsageRollups({ database, log });
  const policy = policyOf(config);
  const retention =
    policy &&
    new RetentionRunner(
      new RetentionService({ database, log, policy, ledger: new LedgerService(database), rollups, observer }),
      log,
    );
  const deposits = new DepositsService({
    database,
    chainId: network.chainId,
    vault: { address: vault, ...toVaultEvent(config) },
    confirmations,
    scannedBlock: async () => (await chain.watchers()).get(WATCHER)?.scannedBlock,
  });
  follow(WATCHER, deposits);
  return {
    services: {
      balances,
      funds: new FundsService({ balances, vault: new VaultClient({ client: rpc.client, vault, clock }) }),
      usage: new UsageService(database.reads),
      deposits,
      holds,
      tagBudgets: new TagBudgetsService({ database, clock, committed }),
    },
    startWork: () => {
      holds.start();
      rollups.start();
      retention?.start();
    },
    stop: async () => {
      await Promise.all([rollups.stop(), retention?.stop()]);
      await recalls.stop();
      await holds.stop();
    },
  };
}
