import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "../../../../src/app.ts";
import { NETWORKS, withAddresses } from "../../../../src/chain/networks.ts";
import { readConfig } from "../../../../src/config.ts";
import { openDatabase } from "../../../../src/db/open.ts";
import { ROUTER_WALLET } from "../../../../src/devnet/chain/accounts.ts";
import { networkContracts } from "../../../../src/devnet/chain/deploy.ts";
import { createLogger } from "../../../../src/kernel/log.ts";
import { MODEL, startNetwork } from "../../../support/chain/network.ts";
import { rest } from "../../../support/clients/rest-client.ts";
import { seedAccount } from "../../../support/seed.ts";
import type { OnEnd } from "../../../support/servers/database.ts";
import { startRemoteGateway } from "../../../support/servers/remote-gateway.ts";
import type { Places } from "./recorded.ts";

const CHATS = 20;

/** The queries of an account page to the product's own graph: joins over accounts, inference and chain. */
export const PRODUCT_OPERATIONS: Readonly<Record<string, string>> = {
  "our own supergraph, the page of an account": `query Page {
    viewer {
      kind
      account {
        address
        balance { available held }
        apiKeys(first: 10) { nodes { id name createdAt } }
        requests(first: 20) { nodes { id status modelId cost { total } provider { address trustMode onChain { updatedAt } } } }
      }
    }
    models(first: 10) { nodes { id serviceType pricing { input output } providers { address health { circuit } onChain { updatedAt } } } }
  }`,
};

/** Starts the product with its subgraphs behind HTTP, and an account with chats in its history. */
export async function openProduct(onEnd: OnEnd): Promise<Places> {
  const { rpcUrl, contracts } = await startNetwork(onEnd);
  const folder = await mkdtemp(join(tmpdir(), "zerograph-bench-"));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  const config = readConfig({
    NETWORK: "devnet",
    ROUTER_PRIVATE_KEY: ROUTER_WALLET.privateKey,
    LOG_LEVEL: "error",
    DATA_DIR: folder,
  });
  const network = withAddresses(NETWORKS.devnet, {
    rpcUrls: [rpcUrl],
    contracts: networkContracts(contracts),
  });
  const app = await createApp(config, network, createLogger("error"), () =>
    openDatabase({ kind: "folder", path: folder }),
  );
  onEnd(() => app.close());
  await app.start({ worker: true });
  const { origin, urls, secret } = await startRemoteGateway({ app }, (end) =>
    onEnd(async () => void (await end())),
  );
  const seeded = await seedAccount(app.database, 10n ** 24n);
  for (let n = 0; n < CHATS; n++) {
    const body = { model: MODEL, messages: [{ role: "user", content: `Question ${n}` }] };
    const { status } = await rest(origin, "/v1/chat/completions", seeded.secret, { body });
    if (status !== 200) throw new Error(`a chat was answered ${status}`);
  }
  return {
    urls,
    secret,
    principal: {
      kind: "management-key",
      account: seeded.account,
      keyId: seeded.keyId,
      scopes: ["account:read", "keys:read"],
    },
  };
}
