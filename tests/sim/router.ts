import { DepositsService } from "../../src/accounts/deposits.service.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { DEFAULT_VAULT_EVENT } from "../../src/accounts/vault-event.ts";
import { LogScanner } from "../../src/chain/log-scanner.ts";
import { readCursor } from "../../src/chain/log-watcher.store.ts";
import { Pulse } from "../../src/chain/pulse.ts";
import type { Rpc } from "../../src/chain/rpc.client.ts";
import type { Database } from "../../src/db/database.ts";
import type { Bus } from "../../src/events/bus.ts";
import { EventRelay } from "../../src/events/relay.ts";
import { AdmissionService } from "../../src/inference/admission.service.ts";
import { CatalogueService } from "../../src/inference/catalogue.service.ts";
import { ChatService } from "../../src/inference/chat.service.ts";
import { ExchangeService } from "../../src/inference/exchange.service.ts";
import { HealthService } from "../../src/inference/health.service.ts";
import type { ProviderClient } from "../../src/inference/provider.client.ts";
import type { Provider } from "../../src/inference/provider.ts";
import type { WaitingClock } from "../../src/kernel/clock.ts";
import type { Hex } from "../../src/kernel/hex.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { UNRESTRICTED } from "../../src/keys/key-terms.ts";
import { PRICE } from "./books.ts";
import { CHAIN_ID } from "./chain.ts";
import type { SimProcess } from "./gate.ts";
import type { Plant } from "./plants.ts";

export const VAULT: Hex = "0x00000000000000000000000000000000000da017";
export const MODEL = "sim-chat";
export const CONFIRMATIONS = 4;
export const HOLD_SECONDS = 660;
const ANSWER_LIMIT = 12;

const log = createLogger("silent");
const committed = () => {};

/** One life of a router process. `busy` is what it does one at a time and is at. */
export type Router = {
  readonly process: SimProcess;
  readonly holds: HoldsService;
  readonly chat: ChatService;
  readonly scanner: LogScanner;
  readonly relay: EventRelay;
  readonly busy: Set<string>;
};

/** Wires a router's own services as `createApp` does, over simulated parts and with the bug that is planted. */
export function bootRouter(given: {
  readonly process: SimProcess;
  readonly database: Database;
  readonly clock: WaitingClock;
  readonly rpc: Rpc;
  readonly client: ProviderClient;
  readonly bus: Bus;
  readonly plant: Plant;
  /** Puts the model beside the holds. */
  readonly watch: (holds: HoldsService) => HoldsService;
}): Router {
  const { process, database, clock, rpc, client, bus, plant } = given;
  const own = new HoldsService({ database, log, committed });
  const holds = given.watch(plant.holds?.(own, database) ?? own);
  const catalogue = new CatalogueService({ source: { load: async () => [PROVIDER] }, log, refreshMs: 1 });
  void catalogue.refresh();
  const health = new HealthService({ clock, coolDownMs: 1 });
  const admission = new AdmissionService({
    catalogue,
    holds,
    clock,
    health,
    reachOf: async () => UNRESTRICTED,
    tokenUsd: () => undefined,
    evidence: { check: async () => false },
    holdSeconds: HOLD_SECONDS,
  });
  const exchanges = new ExchangeService({
    ...{ providers: plant.providers?.(client) ?? client, health, clock, log },
    // The simulation speaks of one provider, which is asked once.
    ...{
      tries: 1,
      totalMs: HOLD_SECONDS * 1_000,
      firstTokenMs: HOLD_SECONDS * 1_000,
      stallMs: 60_000,
      resumesStreams: false,
    },
  });
  const scan = { name: "deposits", rpc, database, startBlock: 0n, confirmations: CONFIRMATIONS };
  return {
    process,
    holds,
    chat: new ChatService({ admission, exchanges, maxCompletionTokens: ANSWER_LIMIT }),
    scanner: new LogScanner({ ...scan, handlers: [depositsOn(database)] }, new Pulse()),
    relay: new EventRelay(database, bus, log),
    busy: new Set(),
  };
}

/** The deposits of the simulated vault. */
export function depositsOn(database: Database): DepositsService {
  return new DepositsService({
    queries: database,
    chainId: CHAIN_ID,
    vault: { address: VAULT, ...DEFAULT_VAULT_EVENT },
    confirmations: CONFIRMATIONS,
    scannedBlock: async () => (await readCursor(database, "deposits"))?.number,
  });
}

const PROVIDER: Provider = {
  address: "0x00000000000000000000000000000000000000aa",
  serviceType: "chatbot",
  url: "https://provider.invalid",
  model: MODEL,
  verifiability: "TeeML",
  inputPrice: PRICE.input,
  outputPrice: PRICE.output,
  teeSigner: "0x00000000000000000000000000000000000000aa",
  teeAcknowledged: true,
  isCentralized: false,
  source: "chain",
  profile: { formats: ["openai"] },
  updatedAt: new Date(0),
};
