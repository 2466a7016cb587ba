import { createPublicClient, http } from "viem";
import { expect, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { FlowClient } from "../../src/storage/flow.client.ts";
import { startChain } from "../support/chain/chain.ts";
import { startRpcProxy } from "../support/chain/rpc-proxy.ts";

const FLOW = "0x1111111111111111111111111111111111111111";
const CALL = { from: FLOW, data: "0x12", value: 1n } as const;

test("a revert with an error of the contract is not taken for a function that it lacks, on any node", async () => {
  const proxy = await startRpcProxy((await startChain()).url);
  const client = createPublicClient({ transport: http(proxy.url, { retryCount: 0 }) });
  const flow = new FlowClient({ client, flow: FLOW, clock: systemClock });
  const reverted = { code: 3, message: "execution reverted" };
  for (const [error, refusal] of [
    [{ ...reverted, data: "0x" }, ""],
    [{ ...reverted, data: `0x0a1b2c3d${"0".repeat(64)}` }, "custom error 0x0a1b2c3d"],
    [{ code: 3, message: "execution reverted: not paid", data: "0x08c379a0" }, "not paid"],
    [{ code: -32_000, message: "header not found" }, undefined],
  ] as const) {
    proxy.judge = ({ id, method }) =>
      method === "eth_call" ? { text: JSON.stringify({ jsonrpc: "2.0", id, error }) } : "pass";
    expect(await flow.refusalOf(CALL)).toBe(refusal);
  }
});
