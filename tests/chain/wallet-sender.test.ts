import { createPublicClient, http, parseEther } from "viem";
import { describe, expect, test } from "vitest";
import { WalletSender } from "../../src/chain/transactions/wallet-sender.ts";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { startChain } from "../support/chain/chain.ts";
import { startRpcProxy } from "../support/chain/rpc-proxy.ts";
import { until } from "../support/until.ts";

const TO = "0x1111111111111111111111111111111111111111";
const CALL = { to: TO, data: "0x", value: parseEther("1") } as const;

describe("a transaction of the router's wallet", () => {
  test("that is sent twice, as after a crash between sending and recording, is executed once", async () => {
    const { chain, sender } = await start();
    const signed = await sender.sign(CALL);
    expect(await sender.outcome(signed.hash)).toBeUndefined();
    await chain.client.setAutomine(false);
    expect([await sender.send(signed), await sender.send(signed)]).toEqual(["sent", "sent"]);
    expect(await sender.outcome(signed.hash)).toBeUndefined();
    await chain.mine(1);
    expect(await sender.outcome(signed.hash)).toBe("success");
    expect(await chain.client.getBalance({ address: TO })).toBe(parseEther("1"));
    // Otherwise it would be signed again with another nonce, and paid twice.
    expect(await sender.send(signed)).toBe("sent");
    expect(await chain.client.getBalance({ address: TO })).toBe(parseEther("1"));
  });

  test("whose nonce was used by another is outdated, and the next one is signed again", async () => {
    const { sender } = await start();
    const [lost, taken] = [await sender.sign(CALL), await sender.sign({ ...CALL, value: 1n })];
    expect(await sender.send(taken)).toBe("sent");
    await until(async () => (await sender.outcome(taken.hash)) === "success");
    expect(await sender.send(lost)).toBe("outdated");
    expect(await sender.outcome(lost.hash)).toBeUndefined();
    expect(await sender.send(await sender.sign(CALL))).toBe("sent");
  });

  test("that a block included is not outdated for a backend that has no receipt of it yet", async () => {
    const { chain, sender } = await start({ confirmations: 3, lags: true });
    const signed = await sender.sign(CALL);
    expect(await sender.send(signed)).toBe("sent");
    expect(await sender.outcome(signed.hash)).toBeUndefined();
    // Otherwise it would be signed again with another nonce, and paid twice.
    expect(await sender.send(signed)).toBe("sent");
    await chain.mine(2);
    expect(await sender.send(signed)).toBe("sent");
  });

  test("whose nonce was used by another is outdated once enough blocks follow", async () => {
    const { chain, sender } = await start({ confirmations: 3 });
    const [lost, taken] = [await sender.sign(CALL), await sender.sign({ ...CALL, value: 1n })];
    expect(await sender.send(taken)).toBe("sent");
    await until(async () => (await sender.outcome(taken.hash)) === "success");
    expect(await sender.send(lost)).toBe("sent");
    await chain.mine(3);
    expect(await sender.send(lost)).toBe("outdated");
  });

  test("that the chain would revert is not signed, and one that the wallet cannot pay is not sent", async () => {
    const { chain, sender } = await start();
    const unpaid = await sender.sign({ ...CALL, value: 10n ** 30n });
    await expect(sender.send(unpaid)).rejects.toMatchObject({ code: "chain_error" });
    await chain.client.setCode({ address: TO, bytecode: "0x60006000fd" });
    await expect(sender.sign(CALL)).rejects.toMatchObject({ code: "chain_error" });
  });
});

/** With `lags`, the endpoint has no receipts. */
async function start({ confirmations = 0, lags = false } = {}) {
  const chain = await startChain();
  const proxy = await startRpcProxy(chain.url);
  if (lags)
    proxy.judge = ({ method }) => (method === "eth_getTransactionReceipt" ? { result: null } : "pass");
  const client = createPublicClient({ transport: http(proxy.url) });
  const { privateKey } = DEMO_USER;
  return { chain, sender: new WalletSender({ client, chainId: 16_602, privateKey, confirmations }) };
}
