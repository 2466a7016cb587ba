import { expect, test } from "vitest";
import { sealedKeyOf, toSealedKeyEvent } from "../../../src/chain/agents/sealed-keys/sealed-key.ts";
import { SealedKeysService } from "../../../src/chain/agents/sealed-keys/sealed-keys.service.ts";
import { MemoryBus } from "../../../src/events/bus.memory.ts";
import { EventsService } from "../../../src/events/events.service.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import {
  type AgentChain,
  agentNft,
  type Funded,
  startAgentChain,
  watchAgents,
} from "../../support/chain/agent-chain.ts";
import { type AgentData, agentProofs, iTransfer, mintAgent, newData } from "../../support/chain/agents.ts";
import { startRpcProxy } from "../../support/chain/rpc-proxy.ts";
import { TEST_CURSORS } from "../../support/cursors.ts";
import { collect, startRelay, take } from "../../support/events.ts";
import { describeDatabases, openTestDatabase } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";

type Published = DomainEvent<"sealed-key.published">;
type Minted = { readonly tokenId: bigint; readonly data: readonly AgentData[] };

async function mint(chain: AgentChain, owner: Funded) {
  const data = [newData()];
  return mintAgent(chain.url, { to: owner.address, data, byKey: owner.privateKey });
}

async function sendKey(chain: AgentChain, from: Funded, to: Funded, { tokenId, data }: Minted) {
  const proofs = await agentProofs(data, { to });
  const move = { byKey: from.privateKey, from: from.address, to: to.address, tokenId, proofs };
  return (await iTransfer(chain.url, move)).transactionHash;
}

/** The keys of a receiver after these events, ignoring duplicates. */
function fold(events: readonly Published[], had: ReadonlySet<string> = new Set()): ReadonlySet<string> {
  const [heard, keys] = [new Set<string>(), new Set(had)];
  for (const { id, data } of events) {
    if (heard.has(id)) continue;
    heard.add(id);
    if (data.removed) keys.delete(data.sealedKeyId);
    else keys.add(data.sealedKeyId);
  }
  return keys;
}

describeDatabases("a receiver of sealed keys", (kind) => {
  test("a receiver that missed 300 blocks, an RPC outage and two reorgs has exactly the keys of the final chain", async () => {
    const [chain, database] = [await startAgentChain(), await openTestDatabase(kind)];
    const proxy = await startRpcProxy(chain.url);
    const bus = new MemoryBus();
    const relay = startRelay(database, bus);
    const events = new EventsService(database, bus, TEST_CURSORS);
    const contracts = [{ address: agentNft(), generation: "agent-nft", startBlock: undefined }] as const;
    const keys = new SealedKeysService({ queries: database, events, chainId: 16_602, contracts });
    const { watcher, caughtUp } = watchAgents(database, { url: proxy.url, committed: () => relay.nudge() });
    watcher.start();
    const [owner, receiver, other] = [await chain.funded(), await chain.funded(), await chain.funded()];
    const mints: Minted[] = [];
    for (let n = 0; n < 6; n++) mints.push(await mint(chain, owner));
    const [one, two, three, four, five, six] = mints as [Minted, Minted, Minted, Minted, Minted, Minted];
    // One key exists before the receiver disconnects, and it receives it.
    const live = await keys.follow({ to: receiver.address });
    await sendKey(chain, owner, receiver, one);
    const [first] = (await take(live, 1)) as Published[];
    await live.return?.();
    const cursor = TEST_CURSORS.seal(first?.position ?? 0n);
    await chain.mine(140);
    // A reorg that the watcher sees: one key is lost for good, another comes back in a later block.
    const comes = await sendKey(chain, owner, receiver, two);
    await sendKey(chain, owner, receiver, three);
    await caughtUp();
    await chain.reorg(2, [[await chain.raw(comes), 1]]);
    await caughtUp();
    await sendKey(chain, owner, other, four);
    // An outage, and during it blocks, keys and a reorg whose start is not seen.
    proxy.judge = () => "cut";
    await until(() => watcher.status().state === "rpc_unavailable");
    await chain.mine(150);
    const late = await sendKey(chain, owner, receiver, five);
    await sendKey(chain, owner, receiver, six);
    await chain.mine(3);
    await chain.reorg(5, [[await chain.raw(late), 4]]);
    await chain.mine(10);
    proxy.judge = () => "pass";
    await caughtUp();
    expect(await chain.height()).toBeGreaterThan(300n);
    const missed = collect(await keys.follow({ to: receiver.address }, cursor)) as Published[];
    const inbox = async () => {
      const { rows } = await keys.list({ to: receiver.address }, { first: 100 });
      return rows;
    };
    const final = await inbox();
    expect(final.map(({ tokenId }) => tokenId)).toEqual([five.tokenId, two.tokenId, one.tokenId]);
    await until(() => {
      expect([...fold(missed, fold(first ? [first] : []))].toSorted()).toEqual(
        final.map(({ id }) => id).toSorted(),
      );
    });
    // The keys as the chain has them.
    const logs = await chain.client.getLogs({
      address: agentNft(),
      event: {
        type: "event",
        name: "PublishedSealedKey",
        inputs: [
          { name: "_to", type: "address", indexed: true },
          { name: "_tokenId", type: "uint256", indexed: true },
          { name: "_sealedKeys", type: "bytes[]" },
        ],
      },
      args: { _to: receiver.address },
      fromBlock: 0n,
    });
    expect(final.map(({ id }) => id)).toEqual(
      logs.map(({ blockHash, logIndex }) => `${blockHash}-${logIndex}`).toReversed(),
    );
    // Another receiver gets only its own key, and a filter by token only that token.
    const others = collect(await keys.follow({ to: other.address }, cursor)) as Published[];
    const ofTwo = collect(await keys.follow({ tokenId: two.tokenId }, cursor)) as Published[];
    await until(() => others.length === 1 && ofTwo.length >= 3);
    expect(others[0]?.data).toMatchObject({ tokenId: four.tokenId.toString(), removed: false });
    expect(fold(ofTwo).size).toBe(1);
  });

  test("a key that an earlier version stored and published is read from its row and its event, and published as the same JSON", async () => {
    const database = await openTestDatabase(kind);
    const bus = new MemoryBus();
    const relay = startRelay(database, bus);
    const events = new EventsService(database, bus, TEST_CURSORS);
    const [contract, from, to] = ["0xa1", "0xf1", "0x71"].map((start) => start.padEnd(42, "0"));
    const contracts = [{ address: contract as Hex, generation: "agent-nft", startBlock: undefined }] as const;
    const service = new SealedKeysService({ queries: database, events, chainId: 16_602, contracts });
    const [block, transaction, dataHash] = ["0xb1", "0xc1", "0xd1"].map((start) => start.padEnd(66, "0"));
    const keys = [
      { dataHash, key: "0x0102", sizeBytes: 2, truncated: false },
      { dataHash: null, key: "0x", sizeBytes: 0, truncated: false },
    ];
    const id = `${block}-3`;
    const data = {
      sealedKeyId: id,
      contract,
      tokenId: "340282366920938463463374607431768211457",
      from,
      to,
      cause: "transfer",
      keys,
      keyCount: 2,
      blockNumber: "42",
      logIndex: 3,
      blockHash: block,
      transactionHash: transaction,
      removed: false,
    };
    await database.rows(
      `insert into sealed_key (id, chain_id, contract, block_number, log_index, block_hash, transaction_hash, token_id,
         sender, receiver, cause, keys, key_count)
       values ($1, 16602, $2, 42, 3, $3, $4, $5::numeric, $6, $7, 'transfer', $8::text::jsonb, 2)`,
      [id, contract, block, transaction, data.tokenId, from, to, JSON.stringify(keys)],
    );
    const append = (event: object) =>
      database.rows(
        "insert into outbox (topic, subject, data) values ('sealed-key.published', $1, $2::text::jsonb)",
        [to, JSON.stringify(event)],
      );
    await append(data);
    await append({ ...data, keys: null });
    relay.nudge();
    const stream = await service.follow({}, TEST_CURSORS.seal(0n));
    const [inline, byId] = (await take(stream, 2)) as [Published, Published];
    await stream.return?.();
    const [stored] = await service.byIds([id]);
    if (!stored) throw new Error("the row was not found");
    expect(toSealedKeyEvent(stored)).toEqual({ topic: "sealed-key.published", subject: to, data });
    expect(sealedKeyOf(inline)).toEqual({ ...stored, seenAt: inline.at });
    expect([sealedKeyOf(byId), byId.data.sealedKeyId]).toEqual([undefined, id]);
  });
});
