import { createPublicClient, http, parseEther, parseGwei } from "viem";
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
    expect(await sender.outcome(signed)).toBeUndefined();
    await chain.client.setAutomine(false);
    expect([await sender.send(signed), await sender.send(signed)]).toEqual(["sent", "sent"]);
    expect(await sender.outcome(signed)).toBeUndefined();
    await chain.mine(1);
    expect(await sender.outcome(signed)).toBe("success");
    expect(await chain.client.getBalance({ address: TO })).toBe(parseEther("1"));
    // Otherwise it would be signed again with another nonce, and paid twice.
    expect(await sender.send(signed)).toBe("sent");
    expect(await chain.client.getBalance({ address: TO })).toBe(parseEther("1"));
  });

  test("whose nonce was used by another is outdated, and the next one is signed again", async () => {
    const { sender } = await start();
    const [lost, taken] = [await sender.sign(CALL), await sender.sign({ ...CALL, value: 1n })];
    expect(await sender.send(taken)).toBe("sent");
    await until(async () => (await sender.outcome(taken)) === "success");
    expect(await sender.send(lost)).toBe("outdated");
    expect(await sender.outcome(lost)).toBeUndefined();
    expect(await sender.send(await sender.sign(CALL))).toBe("sent");
  });

  test("that a block included is not outdated for a backend that has no receipt of it yet", async () => {
    const { chain, sender } = await start({ confirmations: 3, lags: true });
    const signed = await sender.sign(CALL);
    expect(await sender.send(signed)).toBe("sent");
    expect(await sender.outcome(signed)).toBeUndefined();
    // Otherwise it would be signed again with another nonce, and paid twice.
    expect(await sender.send(signed)).toBe("sent");
    await chain.mine(2);
    expect(await sender.send(signed)).toBe("sent");
  });

  test("whose nonce was used by another is outdated once enough blocks follow", async () => {
    const { chain, sender } = await start({ confirmations: 3 });
    const [lost, taken] = [await sender.sign(CALL), await sender.sign({ ...CALL, value: 1n })];
    expect(await sender.send(taken)).toBe("sent");
    await until(async () => (await sender.outcome(taken)) === "success");
    expect(await sender.send(lost)).toBe("sent");
    await chain.mine(3);
    expect(await sender.send(lost)).toBe("outdated");
  });

  test("is replaced once the base fee has risen above its own, and executed once", async () => {
    const { chain, sender } = await start();
    const signed = await sender.sign(CALL);
    expect(await sender.repriced(signed)).toBeUndefined();
    await chain.client.setAutomine(false);
    expect(await sender.send(signed)).toBe("sent");
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("500") });
    await chain.mine(1);
    expect(await sender.outcome(signed)).toBeUndefined();
    const repriced = (await sender.repriced(signed)) ?? expect.unreachable();
    expect(repriced.replaced).toEqual([signed.hash]);
    expect(await sender.send(repriced)).toBe("sent");
    await chain.mine(1);
    expect(await sender.outcome(repriced)).toBe("success");
    expect(await chain.client.getBalance({ address: TO })).toBe(parseEther("1"));
  });

  test("that a block includes after all counts as its replacement, too", async () => {
    const { chain, sender } = await start();
    const signed = await sender.sign(CALL);
    const raised = await sender.raised(await sender.raised(signed));
    expect(await sender.send(signed)).toBe("sent");
    await chain.mine(1);
    // Otherwise it would be signed again with another nonce, and paid twice.
    expect(await sender.send(raised)).toBe("sent");
    expect(await sender.outcome(raised)).toBe("success");
    expect(await chain.client.getBalance({ address: TO })).toBe(parseEther("1"));
  });

  test.each([
    "transaction underpriced",
    "replacement transaction underpriced",
    "max fee per gas less than block base fee: address 0x1, maxFeePerGas: 1, baseFee: 2",
    "insufficient fee; got: 1a0gi required: 2a0gi",
  ])("whose fee a node refuses as %s is sent with higher fees", async (message) => {
    const { proxy, sender } = await start();
    const signed = await sender.sign(CALL);
    proxy.judge = ({ method, params }) => {
      if (method !== "eth_sendRawTransaction" || params[0] !== signed.raw) return "pass";
      return { error: { code: -32_000, message } };
    };
    expect(await sender.send(signed)).toBe("underpriced");
    const raised = await sender.raised(signed);
    expect(await sender.send(raised)).toBe("sent");
    await until(async () => (await sender.outcome(raised)) === "success");
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
  return { chain, proxy, sender: new WalletSender({ client, chainId: 16_602, privateKey, confirmations }) };
}
