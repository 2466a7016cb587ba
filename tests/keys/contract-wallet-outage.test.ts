// @module-tag medium
import { createWalletClient, getAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { createRpc } from "../../src/chain/rpc/rpc.client.ts";
import { verifyWalletSignature } from "../../src/chain/wallet-signature.ts";
import { DEPLOYER } from "../../src/devnet/chain/accounts.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { SessionService } from "../../src/keys/sessions/session.service.ts";
import { signInOrigins } from "../../src/keys/sessions/sign-in-origins.ts";
import { startChain } from "../support/chain/chain.ts";
import { patientTransport } from "../support/chain/patient-transport.ts";
import { receiptOf } from "../support/chain/receipt-of.ts";
import { startRpcProxy } from "../support/chain/rpc-proxy.ts";
import { localSignIn } from "../support/chain/sign-in.ts";
import { compileWallets } from "../support/chain/wallets.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const CHAIN_ID = 16_602;

test("while the RPC hangs, a contract wallet's sign-in is a failure of the chain, and its message stays usable", async () => {
  const [chain, database] = [await startChain(), await openTestDatabase()];
  const owner = privateKeyToAccount(generatePrivateKey());
  const deployer = createWalletClient({
    account: privateKeyToAccount(DEPLOYER.privateKey),
    transport: patientTransport(chain.url),
  });
  const data = compileWallets()("KeyWallet", owner.address);
  const hash = await deployer.sendTransaction({ chain: null, data });
  const receipt = await receiptOf(chain.client, { hash, rpcUrl: chain.url });
  const wallet = getAddress(receipt.contractAddress ?? "0x");
  const proxy = await startRpcProxy(chain.url);
  const log = createLogger("silent");
  const rpc = createRpc({ urls: [proxy.url], network: "devnet", chainId: CHAIN_ID, log });
  await rpc.verifyChain();
  const sessions = new SessionService({
    database,
    clock: systemClock,
    places: signInOrigins({ origins: undefined, chainId: CHAIN_ID, isDevnet: true }),
    verify: (signed) => verifyWalletSignature(rpc.client, signed),
  });
  const { nonce, expiresAt } = await sessions.createNonce();
  const message = localSignIn(wallet, nonce);
  const signed = { message, signature: await owner.signMessage({ message }) };
  proxy.judge = () => "hang";
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(sessions.signIn(signed)).rejects.toMatchObject({ code: "chain_error" });
  const kept = await database.rows<{ at: Date }>("select expires_at as at from sign_in_nonce");
  expect(kept.map(({ at }) => new Date(at).getTime())).toEqual([expiresAt.getTime()]);
  proxy.judge = () => "pass";
  await until(() => rpc.head());
  expect(await sessions.signIn(signed)).toMatchObject({ account: wallet.toLowerCase() });
  await expect(sessions.signIn(signed)).rejects.toMatchObject({ code: "sign_in_refused" });
});
