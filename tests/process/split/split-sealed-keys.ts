import { expect, test } from "vitest";
import { agentNft, type Funded, handlesOf } from "../../support/chain/agent-chain.ts";
import { type AgentData, agentProofs, iTransfer, mintAgent, newData } from "../../support/chain/agents.ts";
import { ask, type Following, followEvents, followSocket } from "../../support/clients/graph-client.ts";
import { scaled } from "../../support/machine.ts";
import { until } from "../../support/until.ts";
import type { SplitProduct } from "./split-product.ts";

const ON_TIME_MS = 2_000;

type SealedKeyEvent = {
  readonly id: string;
  readonly cursor: string;
  readonly removed: boolean;
  readonly sealedKey: { readonly id: string; readonly keys: readonly { readonly key: string }[] };
};

const query = (to: Funded, after?: string) =>
  `subscription { publishedSealedKey(to: "${to.address}"${after ? `, after: "${after}"` : ""}) {
    id cursor removed sealedKey { id keys { key } token { owner { address } } } } }`;
const isOf = ({ sealedKey }: SealedKeyEvent, key: string | undefined) => sealedKey.keys[0]?.key === key;
const sealedKeysOf = ({ results }: Following): SealedKeyEvent[] =>
  results.map(({ data }) => data.publishedSealedKey);

async function mint(rpcUrl: string, owner: Funded) {
  const data = [newData()];
  return mintAgent(rpcUrl, { to: owner.address, data, byKey: owner.privateKey });
}

async function sendKey(
  rpcUrl: string,
  from: Funded,
  to: Funded,
  { tokenId, data }: { tokenId: bigint; data: readonly AgentData[] },
) {
  const proofs = await agentProofs(data, { to });
  const move = { byKey: from.privateKey, from: from.address, to: to.address, tokenId, proofs };
  const { transactionHash } = await iTransfer(rpcUrl, move);
  return { transactionHash, key: proofs[0]?.ownershipProof.sealedKey };
}

/** The worker has read the chain to its end. */
async function caughtUp({ rpcUrl, gateways }: SplitProduct): Promise<void> {
  await until(async () => {
    const head = await handlesOf(rpcUrl).height();
    const { data } = await ask(
      gateways[0].origin,
      undefined,
      "{ network { watchers { name scannedBlock } } }",
    );
    const watchers: { name: string; scannedBlock: string }[] = data.network.watchers;
    return watchers.find(({ name }) => name === `agent:${agentNft()}`)?.scannedBlock === `${head}`;
  }, 60_000);
}

/** The guarantees of sealed keys when several processes share the work. */
export function testSealedKeys(started: () => SplitProduct): void {
  test("a key reaches its receiver within 2 s on every gateway, and its removal too; a reconnecting receiver misses nothing, though the worker was killed", async () => {
    const product = started();
    const { rpcUrl } = product;
    const chain = handlesOf(rpcUrl);
    const [first, second] = product.gateways.map(({ origin }) => origin) as [string, string];
    const [owner, receiver] = [await chain.funded(), await chain.funded()];
    const tokens = [await mint(rpcUrl, owner), await mint(rpcUrl, owner)] as const;
    await caughtUp(product);
    const followers = await Promise.all([
      followSocket(first, undefined, query(receiver)),
      followEvents(second, undefined, query(receiver)),
    ]);
    // A socket does not report an open subscription: keys are sent until both receive one.
    await until(async () => {
      await sendKey(rpcUrl, owner, receiver, await mint(rpcUrl, owner));
      const heard = until(() => followers.every(({ results }) => results.length > 0), 2_000);
      return heard.catch(() => false);
    }, 60_000);
    const { key, transactionHash } = await sendKey(rpcUrl, owner, receiver, tokens[0]);
    const minedMs = performance.now();
    const newsOfKey = () =>
      followers.map((follower) => sealedKeysOf(follower).filter((news) => isOf(news, key)));
    await until(() => newsOfKey().every(({ length }) => length === 1));
    expect(performance.now() - minedMs).toBeLessThan(scaled(ON_TIME_MS));
    expect(newsOfKey()[0]).toEqual(newsOfKey()[1]);
    await chain.revert(transactionHash, [[await chain.raw(transactionHash), 0]]);
    await until(() => newsOfKey().every(({ length }) => length === 3));
    for (const [there, gone, again] of newsOfKey()) {
      expect([there?.removed, gone?.removed, again?.removed]).toEqual([false, true, false]);
      expect(gone?.sealedKey.id).toBe(there?.sealedKey.id);
      expect(again?.sealedKey.id).not.toBe(there?.sealedKey.id);
    }
    await Promise.all(followers.map((follower) => follower.stop()));
    const cursor = sealedKeysOf(followers[0]).at(-1)?.cursor;
    await product.worker.end("SIGKILL");
    const missed = await sendKey(rpcUrl, owner, receiver, tokens[1]);
    await chain.mine(5);
    await product.startWorker();
    await caughtUp(product);
    const back = await followEvents(second, undefined, query(receiver, cursor));
    await until(() => back.results.length > 0);
    expect(sealedKeysOf(back)).toMatchObject([
      { removed: false, sealedKey: { keys: [{ key: missed.key }] } },
    ]);
    await back.stop();
  });
}
