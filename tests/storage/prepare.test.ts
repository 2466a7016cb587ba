import { expect, test } from "vitest";
import { createRpc } from "../../src/chain/rpc/rpc.client.ts";
import { contractAddresses, deployContracts } from "../../src/devnet/chain/deploy.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import type { FilesService } from "../../src/storage/files.service.ts";
import { FlowClient } from "../../src/storage/flow.client.ts";
import { UploadsService } from "../../src/storage/uploads/uploads.service.ts";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { startChain } from "../support/chain/chain.ts";
import { startRpcProxy, type Verdict } from "../support/chain/rpc-proxy.ts";

/** 50 ms, plus slack for a busy machine. */
const MAX_TURN_MS = 100;
/** A wallet without balance. */
const from: Hex = "0x2222222222222222222222222222222222222222";
const content = Buffer.from("prepared");
const REVERTED = { error: { code: 3, message: "execution reverted", data: "0x" } } as const;

test("an upload is prepared for the current Flow contract, whatever the wallet's balance, and says when it would revert", async () => {
  const { uploads, judge } = await start();
  const prepare = async (more: object = {}) =>
    (await uploads.prepare({ content, from, ...more })).transaction;
  expect(await prepare()).toMatchObject({ data: expect.stringMatching(/^0xbc8c11f8/), warnings: [] });

  judge((data) => (data.startsWith("0xbc8c11f8") ? REVERTED : "pass"));
  expect(await prepare()).toMatchObject({ data: expect.stringMatching(/^0xef3e12dc/), warnings: [] });
  expect(await prepare({ abi: "current" })).toMatchObject({
    data: expect.stringMatching(/^0xbc8c11f8/),
    warnings: ["The chain would revert this transaction now: the contract has no such function."],
  });

  judge((data) =>
    /^0x(bc8c11f8|ef3e12dc)/.test(data)
      ? { error: { code: 3, message: "execution reverted: Pausable: paused" } }
      : "pass",
  );
  expect((await prepare())?.warnings).toEqual([
    "The chain would revert this transaction now: Pausable: paused.",
  ]);

  // An endpoint that cannot simulate the transaction does not prevent preparing it.
  judge((data) =>
    /^0x(bc8c11f8|ef3e12dc)/.test(data)
      ? { error: { code: -32_602, message: "too many arguments" } }
      : "pass",
  );
  expect(await prepare()).toMatchObject({ data: expect.stringMatching(/^0xbc8c11f8/), warnings: [] });
});

test("without the chain nothing is prepared, and the error says why", async () => {
  const { uploads, judge } = await start();
  judge(() => "cut");
  await expect(uploads.prepare({ content, from })).rejects.toMatchObject({ code: "chain_error" });
  judge(() => "pass");
  expect(await uploads.prepare({ content, from })).toMatchObject({ fee: 10n ** 9n });
});

test("other work goes on while the upload of a large file is prepared", async () => {
  const { uploads } = await start();
  const large = Buffer.alloc(48 * 2 ** 20, 7);
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    const prepared = await uploads.prepare({ content: large, from });
    expect(prepared).toMatchObject({ segments: 192, proofs: { length: 192 } });
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
});

async function start() {
  const chain = await startChain();
  await deployContracts(chain.url);
  const proxy = await startRpcProxy(chain.url);
  const rpc = createRpc({
    urls: [proxy.url],
    network: "devnet",
    chainId: 16_602,
    log: createLogger("silent"),
  });
  const flow = new FlowClient({ client: rpc.client, flow: contractAddresses().flow, clock: systemClock });
  const files: Pick<FilesService, "ofSize"> = { ofSize: async () => undefined };
  const uploads = new UploadsService({ files, flow, chainId: 16_602 } as never);
  return {
    uploads,
    /** Decides on contract calls by their data. */
    judge(verdictOf: (data: string) => Verdict) {
      proxy.judge = ({ method, params: [call] }) =>
        method === "eth_call" ? verdictOf((call as { data: string }).data) : "pass";
    },
  };
}
