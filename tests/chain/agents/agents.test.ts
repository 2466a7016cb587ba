// @module-tag large
import { randomInt } from "node:crypto";
import { encodeAbiParameters, encodeEventTopics, zeroAddress } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentNftAbi } from "../../../src/chain/abi/agent-nft.ts";
import { agenticIdAbi } from "../../../src/chain/abi/agentic-id.ts";
import { AgentLogService } from "../../../src/chain/agents/log/agent-log.service.ts";
import { SealedKeysService } from "../../../src/chain/agents/sealed-keys/sealed-keys.service.ts";
import { AgentTokensService } from "../../../src/chain/agents/tokens/agent-tokens.service.ts";
import type { ChainLog } from "../../../src/chain/watcher/log-handler.ts";
import type { Database } from "../../../src/db/database.ts";
import { ListAgentEvents } from "../../../src/db/migrations/40-agent-events.ts";
import { DEPLOYER } from "../../../src/devnet/chain/accounts.ts";
import { MemoryBus } from "../../../src/events/bus.memory.ts";
import { EventsService } from "../../../src/events/events.service.ts";
import type { SealedKeyPublished, TokenTransferred } from "../../../src/events/topics.ts";
import { type Hex, lowerHex } from "../../../src/kernel/text/hex.ts";
import {
  type AgentChain,
  agentNft,
  type Funded,
  startAgentChain,
  watchAgents,
} from "../../support/chain/agent-chain.ts";
import {
  agentProofs,
  iClone,
  iTransfer,
  mintAgent,
  newData,
  randomHex,
  writeAgent,
} from "../../support/chain/agents.ts";
import { TEST_CURSORS } from "../../support/cursors.ts";
import { describeDatabases, openTestDatabase } from "../../support/servers/database.ts";

const ALL = { first: 100 };
const CONTRACT = agentNft();

let chain: AgentChain;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  chain = await startAgentChain((end) => void ends.unshift(end));
});
afterAll(async () => {
  for (const end of ends) await end();
});

const key = (tokenId: bigint) => ({ contract: CONTRACT, tokenId });
const write = (by: Funded, ...call: [Parameters<typeof writeAgent>[2], readonly unknown[]]) =>
  writeAgent(chain.url, by.privateKey, ...call);

async function move(by: Funded, to: Funded, tokenId: bigint, data: Parameters<typeof agentProofs>[0]) {
  const proofs = await agentProofs(data, { to });
  return iTransfer(chain.url, {
    byKey: by.privateKey,
    from: by.address,
    to: to.address,
    tokenId,
    proofs,
  });
}

/** The current state of a token in the contract. */
async function onChain(tokenId: bigint) {
  const token = { address: CONTRACT, abi: agentNftAbi, args: [tokenId] } as const;
  const [owner, users, datas, creator] = await Promise.all([
    chain.client.readContract({ ...token, functionName: "ownerOf" }),
    chain.client.readContract({ ...token, functionName: "authorizedUsersOf" }),
    chain.client.readContract({ ...token, functionName: "intelligentDatasOf" }),
    chain.client.readContract({ ...token, functionName: "creatorOf" }),
  ]);
  return {
    owner: lowerHex(owner),
    creator: creator === zeroAddress ? null : lowerHex(creator),
    users: users.map(lowerHex).toSorted(),
    datas: datas.map(({ dataDescription, dataHash }) => ({ description: dataDescription, dataHash })),
  };
}

async function asRead(tokens: AgentTokensService, tokenId: bigint) {
  const [[token], [users]] = await Promise.all([
    tokens.byKeys([key(tokenId)]),
    tokens.usersOf([key(tokenId)]),
  ]);
  return { owner: token?.owner, creator: token?.creator, users: users?.toSorted(), datas: token?.datas };
}

describeDatabases("agent tokens", (kind) => {
  test("a token is read as its contract has it, through every change", async () => {
    const database = await openTestDatabase(kind);
    const { watcher, tokens, caughtUp } = watchAgents(database, { url: chain.url });
    watcher.start();
    const [ann, ben, cem] = [await chain.funded(), await chain.funded(), await chain.funded()];
    const data = [newData("model"), newData("memory\0of it")];
    const { tokenId } = await mintAgent(chain.url, { to: ann.address, data, byKey: ann.privateKey });
    const agrees = async () => {
      await caughtUp();
      const { datas, ...rest } = await onChain(tokenId);
      const readable = datas.map((one) => ({ ...one, description: one.description.replace("\0", "\ufffd") }));
      expect(await asRead(tokens, tokenId)).toEqual({ ...rest, datas: readable });
      const [token] = await tokens.byKeys([key(tokenId)]);
      return token;
    };
    expect(await agrees()).toMatchObject({
      generation: "agent-nft",
      movedWithoutKey: false,
      clonedFrom: null,
    });
    await writeAgent(chain.url, DEPLOYER.privateKey, "setCreator", [tokenId, cem.address]);
    await write(ann, "batchAuthorizeUsage", [tokenId, [ben.address, cem.address, DEPLOYER.address]]);
    await write(ann, "revokeAuthorization", [tokenId, cem.address]);
    await agrees();
    await write(ann, "authorizeUsage", [tokenId, cem.address]);
    await move(ann, ben, tokenId, data);
    expect(await agrees()).toMatchObject({ movedWithoutKey: false, owner: lowerHex(ben.address) });
    await write(ben, "authorizeUsage", [tokenId, ann.address]);
    await write(ben, "clearAuthorizedUsers", [tokenId]);
    await write(ben, "transferFrom", [ben.address, cem.address, tokenId]);
    expect(await agrees()).toMatchObject({ movedWithoutKey: true });
    await write(cem, "update", [tokenId, [{ dataDescription: "anew", dataHash: randomHex(32) }]]);
    expect(await agrees()).toMatchObject({ movedWithoutKey: false });
    const { rows: transfers } = await tokens.transfers(key(tokenId), ALL);
    expect(transfers).toMatchObject([
      { from: lowerHex(ben.address), to: lowerHex(cem.address), withKey: false },
      { from: lowerHex(ann.address), to: lowerHex(ben.address), withKey: true },
      { from: null, to: lowerHex(ann.address), withKey: false },
    ]);
    const { rows: authorizations } = await tokens.authorizations(key(tokenId), ALL);
    expect(authorizations.map(({ user, endReason }) => [user, endReason])).toEqual([
      [lowerHex(ann.address), "cleared"],
      [lowerHex(cem.address), "transferred"],
      [lowerHex(DEPLOYER.address), "transferred"],
      [lowerHex(cem.address), "revoked"],
      [lowerHex(ben.address), "transferred"],
    ]);
    // Read page by page they are the same.
    const [first, ...others] = authorizations;
    expect((await tokens.authorizations(key(tokenId), { first: 1 })).rows).toEqual([first]);
    const rest = await tokens.authorizations(key(tokenId), { first: 100, after: first?.cursor });
    expect(rest.rows).toEqual(others);
  });

  test("sealed keys are aligned with the data, cut when they are long, and clones know their origin", async () => {
    const database = await openTestDatabase(kind);
    const { watcher, tokens, caughtUp } = watchAgents(database, { url: chain.url });
    watcher.start();
    const [ann, ben] = [await chain.funded(), await chain.funded()];
    const data = [newData(), newData(), newData()];
    const { tokenId } = await mintAgent(chain.url, { to: ann.address, data, byKey: ann.privateKey });
    const sealedKeys: Hex[] = [randomHex(16), randomHex(5_000), "0x"];
    const proofs = await agentProofs(data, { to: ben, sealedKeys });
    const clone = await iClone(chain.url, {
      byKey: ann.privateKey,
      from: ann.address,
      to: ben.address,
      tokenId,
      proofs,
    });
    await caughtUp();
    const events = new EventsService(database, new MemoryBus(), TEST_CURSORS);
    const contracts = [{ address: CONTRACT, generation: "agent-nft", startBlock: undefined }] as const;
    const keys = new SealedKeysService({ queries: database, events, chainId: 16_602, contracts });
    const { rows } = await keys.list({ to: ben.address }, ALL);
    expect(rows).toMatchObject([
      {
        tokenId: clone.tokenId,
        from: lowerHex(ann.address),
        cause: "clone",
        keyCount: 3,
        keys: [
          { dataHash: data[0]?.dataHash, key: sealedKeys[0], sizeBytes: 16, truncated: false },
          {
            dataHash: data[1]?.dataHash,
            key: sealedKeys[1]?.slice(0, 8_194),
            sizeBytes: 5_000,
            truncated: true,
          },
          { dataHash: data[2]?.dataHash, key: "0x", sizeBytes: 0, truncated: false },
        ],
      },
    ]);
    const [cloned] = await tokens.byKeys([key(clone.tokenId)]);
    expect(cloned).toMatchObject({
      clonedFrom: tokenId,
      owner: lowerHex(ben.address),
      movedWithoutKey: false,
    });
    expect(cloned?.datas.map(({ dataHash }) => dataHash)).toEqual(data.map(({ dataHash }) => dataHash));
    expect((await tokens.clones(key(tokenId), ALL)).rows).toMatchObject([{ newTokenId: clone.tokenId }]);
    expect((await tokens.list({ owner: ben.address }, ALL)).rows).toMatchObject([{ tokenId: clone.tokenId }]);
    expect((await tokens.list({ owner: ann.address, contract: CONTRACT }, ALL)).rows).toMatchObject([
      { tokenId },
    ]);
  });

  test("after a reorg the state is as it was before the reverted blocks", async () => {
    const database = await openTestDatabase(kind);
    const { watcher, caughtUp } = watchAgents(database, { url: chain.url });
    watcher.start();
    const [ann, ben] = [await chain.funded(), await chain.funded()];
    const data = [newData()];
    const { tokenId } = await mintAgent(chain.url, { to: ann.address, data, byKey: ann.privateKey });
    await write(ann, "authorizeUsage", [tokenId, ben.address]);
    await write(ann, "delegateAccess", [ben.address]);
    await writeAgent(chain.url, DEPLOYER.privateKey, "setCreator", [tokenId, ann.address]);
    await caughtUp();
    const before = await dump(database);
    const acts: (() => Promise<unknown>)[] = [
      () => write(ann, "revokeAuthorization", [tokenId, ben.address]),
      () => write(ann, "clearAuthorizedUsers", [tokenId]),
      () => move(ann, ben, tokenId, data),
      () => write(ann, "transferFrom", [ann.address, ben.address, tokenId]),
      () => write(ann, "update", [tokenId, [newData()]]),
      () => write(ann, "delegateAccess", [zeroAddress]),
      () => writeAgent(chain.url, DEPLOYER.privateKey, "setCreator", [tokenId, ben.address]),
    ];
    for (const act of acts) {
      await act();
      await caughtUp();
      expect(await dump(database)).not.toEqual(before);
      await chain.reorg(1);
      await caughtUp();
      expect(await dump(database)).toEqual(before);
    }
  });

  test("a token's history lists each event once, and one that a reorg reverts below what replaced it", async () => {
    const database = await openTestDatabase(kind);
    const { watcher, tokens, caughtUp } = watchAgents(database, { url: chain.url });
    watcher.start();
    const [ann, ben] = [await chain.funded(), await chain.funded()];
    const data = [newData()];
    const { tokenId } = await mintAgent(chain.url, { to: ann.address, data, byKey: ann.privateKey });
    await write(ann, "authorizeUsage", [tokenId, ben.address]);
    await write(ann, "revokeAuthorization", [tokenId, ben.address]);
    await write(ann, "clearAuthorizedUsers", [tokenId]);
    const proofs = await agentProofs(data, { to: ben });
    const by = { byKey: ann.privateKey, from: ann.address, to: ben.address, tokenId };
    const clone = await iClone(chain.url, { ...by, proofs });
    const { transactionHash } = await move(ann, ben, tokenId, data);
    await caughtUp();
    const history = async (id: bigint) =>
      (await tokens.events(key(id), ALL)).rows.map((event) => [
        event.kind,
        event.from,
        event.to,
        event.reverted,
      ]);
    const [annAt, benAt] = [lowerHex(ann.address), lowerHex(ben.address)];
    const before = [
      ["cloned", annAt, benAt, false],
      ["authorizations_cleared", null, null, false],
      ["revoked", null, benAt, false],
      ["authorized", annAt, benAt, false],
      ["data_set", null, null, false],
      ["minted", null, annAt, false],
    ];
    const moved = (reverted: boolean) => [
      ["key_sealed", annAt, benAt, reverted],
      ["transferred", annAt, benAt, reverted],
    ];
    expect(await history(tokenId)).toEqual([...moved(false), ...before]);
    expect(await history(clone.tokenId)).toEqual([
      ["key_sealed", annAt, benAt, false],
      ["data_set", null, null, false],
      ["minted", null, benAt, false],
    ]);
    const [, transfer, cloned] = (await tokens.events(key(tokenId), ALL)).rows;
    expect(transfer).toMatchObject({ withKey: true, newTokenId: null });
    expect(cloned).toMatchObject({ withKey: null, newTokenId: clone.tokenId });

    // The transfer comes again in another block.
    const serializedTransaction = await chain.raw(transactionHash);
    await chain.reorg(1);
    await chain.client.sendRawTransaction({ serializedTransaction });
    await expect.poll(() => history(tokenId)).toEqual([...moved(false), ...moved(true), ...before]);
    await chain.reorg(1);
    await expect.poll(() => history(tokenId)).toEqual([...moved(true), ...moved(true), ...before]);

    // Its pages join, in both directions.
    const whole = (await tokens.events(key(tokenId), ALL)).rows;
    const [third, fifth] = [whole[2]?.cursor, whole[4]?.cursor];
    const after = await tokens.events(key(tokenId), { first: 2, after: third });
    expect(after.rows).toEqual(whole.slice(3, 5));
    const last = await tokens.events(key(tokenId), { last: 2, before: fifth });
    expect(last.rows).toEqual(whole.slice(2, 4));
    await expect(tokens.events(key(tokenId), { first: 2, after: "99999" })).rejects.toMatchObject({
      code: "invalid_cursor",
    });

    // Another token's list refuses its cursors.
    const lists = [tokens.events, tokens.transfers, tokens.authorizations, tokens.clones];
    for (const list of lists.map((one) => one.bind(tokens))) {
      const [first] = (await list(key(tokenId), ALL)).rows;
      expect(first).toBeDefined();
      const page = { first: 1, after: first?.cursor };
      expect(await list(key(tokenId), page)).toMatchObject({ hasPreviousPage: true });
      await expect(list(key(clone.tokenId), page)).rejects.toMatchObject({
        code: "invalid_cursor",
        param: "after",
      });
    }

    // What an earlier version indexed becomes the same history, without ends of authorisations and what was reverted.
    const migrated = await openTestDatabase(kind);
    const later = watchAgents(migrated, { url: chain.url });
    later.watcher.start();
    await later.caughtUp();
    await later.watcher.stop();
    await migrated.rows("drop table agent_event");
    const migration = new ListAgentEvents(undefined as never, undefined as never);
    migration.up();
    for (const statement of migration.getQueries()) await migrated.rows(String(statement));
    const kindsOf = async (id: bigint) =>
      (await later.tokens.events(key(id), ALL)).rows.map((row) => row.kind);
    expect(await kindsOf(tokenId)).toEqual(["cloned", "authorized", "data_set", "minted"]);
    expect(await kindsOf(clone.tokenId)).toEqual(["key_sealed", "data_set", "minted"]);

    // A day later what was reverted is deleted.
    await database.rows("update agent_event set removed_at = removed_at - interval '26 hours'");
    await chain.mine(1);
    await caughtUp();
    expect(await history(tokenId)).toEqual(before);
  });

  test("under random reorgs, the stored state equals a fresh read of the chain, and the published events add up to it", async () => {
    const database = await openTestDatabase(kind);
    const { watcher, tokens, caughtUp } = watchAgents(database, { url: chain.url, pollMs: 5 });
    watcher.start();
    const people = [await chain.funded(), await chain.funded(), await chain.funded()];
    // No reorg reaches the blocks in which they were funded.
    await chain.mine(8);
    const story: string[] = [];
    const known = new Map<bigint, Parameters<typeof agentProofs>[0]>();
    for (let turn = 0; turn < 30; turn++) {
      story.push(await randomAct(people, known).catch(() => "refused"));
      if (turn % 5 !== 4) continue;
      if (randomInt(3) > 0) await caughtUp();
      story.push(await randomReorg());
    }
    await caughtUp();
    // Otherwise nothing was tested.
    expect(story.filter((act) => act === "refused").length, story.join("; ")).toBeLessThan(20);
    for (let tokenId = 0n; tokenId < 20n; tokenId++) {
      const there = await onChain(tokenId).catch(() => undefined);
      if (there) expect(await asRead(tokens, tokenId), story.join("; ")).toEqual(there);
      else expect(await tokens.byKeys([key(tokenId)]), story.join("; ")).toEqual([undefined]);
    }
    const afresh = await openTestDatabase();
    const second = watchAgents(afresh, { url: chain.url });
    second.watcher.start();
    await second.caughtUp();
    expect(await dump(database), story.join("; ")).toEqual(await dump(afresh));
    expect(await stateOfEvents(database)).toEqual(await storedState(database));
  });
});

async function randomAct(people: readonly Funded[], known: Map<bigint, Parameters<typeof agentProofs>[0]>) {
  const some = <T>(list: readonly T[]): T => list[randomInt(list.length)] as T;
  if (known.size < 2 || randomInt(20) === 0) {
    const data = Array.from({ length: randomInt(1, 3) }, () => newData());
    const to = some(people);
    const { tokenId } = await mintAgent(chain.url, { to: to.address, data, byKey: to.privateKey });
    known.set(tokenId, data);
    return `mint ${tokenId}`;
  }
  const tokenId = some([...known.keys()]);
  const there = await onChain(tokenId).catch(() => undefined);
  if (!there) {
    known.delete(tokenId);
    return `${tokenId} is gone`;
  }
  const owner = people.find(({ address }) => lowerHex(address) === there.owner) ?? some(people);
  const other = some(people);
  const data = there.datas.map((one) => ({ ...one, dataDescription: one.description }));
  switch (randomInt(12)) {
    case 0:
    case 7:
    case 8:
    case 9:
      await write(owner, "authorizeUsage", [tokenId, other.address]);
      return `authorize ${tokenId}`;
    case 1:
      await write(owner, "revokeAuthorization", [tokenId, other.address]);
      return `revoke ${tokenId}`;
    case 2:
      await write(owner, "clearAuthorizedUsers", [tokenId]);
      return `clear ${tokenId}`;
    case 3:
      await write(owner, "transferFrom", [owner.address, other.address, tokenId]);
      return `plain ${tokenId}`;
    case 4:
      await write(owner, "update", [tokenId, [newData()]]);
      return `update ${tokenId}`;
    case 5:
      await write(owner, "delegateAccess", [other.address]);
      return "delegate";
    case 6: {
      const proofs = await agentProofs(data, { to: other });
      const clone = await iClone(chain.url, {
        byKey: owner.privateKey,
        from: owner.address,
        to: other.address,
        tokenId,
        proofs,
      });
      known.set(clone.tokenId, data);
      return `clone ${tokenId} as ${clone.tokenId}`;
    }
    default:
      await move(owner, other, tokenId, data);
      return `move ${tokenId}`;
  }
}

/** Some of the dropped transactions are included again, in another block. */
async function randomReorg(): Promise<string> {
  const depth = randomInt(1, 8);
  const head = await chain.height();
  const numbers = Array.from({ length: depth }, (_, n) => head - BigInt(depth - 1 - n));
  const blocks = await Promise.all(numbers.map((blockNumber) => chain.client.getBlock({ blockNumber })));
  const gone = blocks.flatMap(({ transactions }) => transactions);
  const kept = randomInt(2) === 0 ? gone.slice(0, randomInt(gone.length + 1)) : [];
  const again = await Promise.all(
    kept.map(async (hash, n): Promise<[Hex, number]> => [await chain.raw(hash), Math.min(n, depth - 1)]),
  );
  await chain.reorg(depth, again);
  return `reorg ${depth}, ${again.length} of ${gone.length} again`;
}

const HISTORY = [
  "agent_transfer",
  "agent_data",
  "agent_authorization",
  "agent_creator",
  "agent_delegation",
  "agent_clone",
] as const;

/** Every row without the time at which it was seen. */
async function dump(database: Database): Promise<Record<string, unknown>> {
  const rows = async (sql: string) =>
    (await database.rows<{ row: string }>(sql)).map(({ row }) => JSON.parse(row) as unknown);
  const tables = await Promise.all(
    HISTORY.map(async (table) => [
      table,
      await rows(
        `select (to_jsonb(t) - 'seen_at')::text as row from ${table} t order by block_number, log_index`,
      ),
    ]),
  );
  return {
    ...Object.fromEntries(tables),
    sealed_key: await rows(
      `select (to_jsonb(t) - 'seen_at')::text as row from sealed_key t where removed_at is null
       order by block_number, log_index`,
    ),
    // In the order of the history, which is that of the chain.
    agent_event: await rows(
      "select (to_jsonb(t) - 'seen_at' - 'seq')::text as row from agent_event t where removed_at is null order by seq",
    ),
  };
}

/** The state of a subscriber that received every event: keys by their id, moves by their place. */
async function stateOfEvents(database: Database) {
  const rows = await database.rows<{ topic: string; data: string }>(
    "select topic, data::text as data from outbox order by id",
  );
  const [keys, moves] = [new Set<string>(), new Set<string>()];
  for (const { topic, data } of rows) {
    const news = JSON.parse(data) as SealedKeyPublished & TokenTransferred;
    const [state, name] =
      topic === "sealed-key.published"
        ? [keys, news.sealedKeyId]
        : [moves, `${news.tokenId} ${news.blockNumber} ${news.logIndex} ${news.transactionHash}`];
    if (news.removed) expect(state.delete(name)).toBe(true);
    else state.add(name);
  }
  return { keys: [...keys].toSorted(), moves: [...moves].toSorted() };
}

async function storedState(database: Database) {
  const keys = await database.rows<{ id: string }>("select id from sealed_key where removed_at is null");
  const moves = await database.rows<{ name: string }>(
    `select token_id::text || ' ' || block_number || ' ' || log_index || ' ' || transaction_hash as name
     from agent_transfer`,
  );
  return {
    keys: keys.map(({ id }) => id).toSorted(),
    moves: moves.map(({ name }) => name).toSorted(),
  };
}

describe("the successor's logs", () => {
  const contract = lowerHex(randomHex(20));
  const [ann, ben] = [lowerHex(randomHex(20)), lowerHex(randomHex(20))];

  test("make the same tokens, keys and authorisations", async () => {
    const database = await openTestDatabase();
    const service = new AgentLogService({
      chainId: 16_602,
      contract: { address: contract, generation: "agentic-id", startBlock: undefined },
    });
    const [data, anew] = [newData("one"), newData("other")];
    const entries = (keyOf: Hex) => [{ dataHash: data.dataHash, sealedKey: keyOf }];
    const logs = [
      [1, "Transfer", { from: zeroAddress, to: ann, tokenId: 7n }],
      [1, "Updated", { tokenId: 7n }, [[], [data], []]],
      [1, "ITransferred", { from: zeroAddress, to: ann, tokenId: 7n }, [entries("0x01")]],
      [2, "AuthorizationGranted", { owner: ann, user: ben, tokenId: 7n }],
      [3, "DelegateUpdated", { user: ann, delegate: ben }],
      [4, "Transfer", { from: ann, to: ben, tokenId: 7n }],
      [4, "ITransferred", { from: ann, to: ben, tokenId: 7n }, [entries("0x02")]],
      [5, "EntryUpdated", { tokenId: 7n, index: 0n }, [data, anew, "0x03"]],
      [6, "Transfer", { from: zeroAddress, to: ann, tokenId: 8n }],
      [6, "Updated", { tokenId: 8n }, [[], [anew], []]],
      [
        6,
        "Cloned",
        { tokenId: 7n, newTokenId: 8n },
        [ben, ann, [{ dataHash: anew.dataHash, sealedKey: "0x04" }]],
      ],
    ] as const;
    await database.transaction(async (tx) => {
      await service.apply(
        tx,
        logs.map(([block, name, indexed, rest = []], n) => toLog(block, n, name, indexed, rest)),
      );
    });
    const client = {} as never;
    const clock = { now: () => new Date(), monotonicMs: () => 0 };
    const contracts = [{ address: contract, generation: "agentic-id", startBlock: undefined }] as const;
    const tokens = new AgentTokensService({ queries: database, chainId: 16_602, client, clock, contracts });
    const [seven, eight] = await tokens.byKeys([
      { contract, tokenId: 7n },
      { contract, tokenId: 8n },
    ]);
    expect(seven).toMatchObject({
      owner: ben,
      generation: "agentic-id",
      movedWithoutKey: false,
      datas: [{ description: "other", dataHash: anew.dataHash }],
    });
    expect(eight).toMatchObject({ owner: ann, clonedFrom: 7n });
    const page = await tokens.authorizations({ contract, tokenId: 7n }, ALL);
    expect(page.rows).toMatchObject([{ user: ben, by: ann, endReason: "transferred" }]);
    expect(await tokens.delegationsOf([ann])).toMatchObject([[{ assistant: ben }]]);
    expect([(await tokens.list({}, ALL)).rows.length, await tokens.count({ contract })]).toEqual([
      2,
      { rows: 2, isExact: true },
    ]);
    const events = new EventsService(database, new MemoryBus(), TEST_CURSORS);
    const keys = new SealedKeysService({ queries: database, events, chainId: 16_602, contracts });
    expect((await tokens.events({ contract, tokenId: 8n }, ALL)).rows.map(({ kind }) => kind)).toEqual([
      "key_sealed",
      "data_set",
      "minted",
    ]);
    // Nothing follows the contract any more, so that what is stored may be outdated.
    const other = { ...contracts[0], address: lowerHex(randomHex(20)) } as const;
    for (const configured of [[], [other]]) {
      const needs = { queries: database, chainId: 16_602, client, clock, contracts: configured };
      const without = new AgentTokensService(needs);
      expect(await without.byKeys([{ contract, tokenId: 7n }])).toEqual([undefined]);
      expect((await without.list({}, ALL)).rows).toEqual([]);
      expect(await without.count({ contract })).toEqual({ rows: 0, isExact: true });
      expect(await without.delegationsOf([ann])).toEqual([[]]);
      expect((await without.events({ contract, tokenId: 8n }, ALL)).rows).toEqual([]);
      const inbox = new SealedKeysService({
        queries: database,
        events,
        chainId: 16_602,
        contracts: configured,
      });
      for (const filter of [{ to: ann }, { contract }]) {
        expect((await inbox.list(filter, ALL)).rows).toEqual([]);
        expect(await inbox.count(filter)).toEqual({ rows: 0, isExact: true });
      }
    }
    const { rows } = await keys.list({ contract }, ALL);
    expect(rows.map(({ to, cause, keys: [only] }) => [to, cause, only?.key, only?.dataHash])).toEqual([
      [ann, "clone", "0x04", anew.dataHash],
      [ben, "transfer", "0x02", data.dataHash],
      [ann, "mint", "0x01", data.dataHash],
    ]);
  });

  test("a transfer without entries is one without a key", async () => {
    const database = await openTestDatabase();
    const agentic = { address: contract, generation: "agentic-id", startBlock: undefined } as const;
    const service = new AgentLogService({ chainId: 16_602, contract: agentic });
    const data = newData("one");
    const sealed = [{ dataHash: data.dataHash, sealedKey: "0x01" }];
    const logs = [
      [1, "Transfer", { from: zeroAddress, to: ann, tokenId: 7n }],
      [1, "Updated", { tokenId: 7n }, [[], [data], []]],
      [1, "ITransferred", { from: zeroAddress, to: ann, tokenId: 7n }, [sealed]],
      [2, "Transfer", { from: ann, to: ben, tokenId: 7n }],
      [2, "ITransferred", { from: ann, to: ben, tokenId: 7n }, [[]]],
    ] as const;
    await database.transaction((tx) =>
      service.apply(
        tx,
        logs.map(([block, name, indexed, rest = []], n) => toLog(block, n, name, indexed, rest)),
      ),
    );
    const clock = { now: () => new Date(), monotonicMs: () => 0 };
    const needs = { queries: database, chainId: 16_602, client: {} as never, clock, contracts: [agentic] };
    const [seven] = await new AgentTokensService(needs).byKeys([{ contract, tokenId: 7n }]);
    expect(seven).toMatchObject({ owner: ben, movedWithoutKey: true });
    const events = new EventsService(database, new MemoryBus(), TEST_CURSORS);
    const { contracts } = needs;
    const keys = new SealedKeysService({ queries: database, events, chainId: 16_602, contracts });
    expect((await keys.list({ contract }, ALL)).rows).toMatchObject([{ to: ann, cause: "mint" }]);
  });

  function toLog(
    block: number,
    logIndex: number,
    eventName: (typeof agenticIdAbi)[number] extends infer Item
      ? Item extends { type: "event"; name: infer N }
        ? N
        : never
      : never,
    args: object,
    rest: readonly unknown[],
  ): ChainLog {
    const item = agenticIdAbi.find((one) => one.type === "event" && one.name === eventName);
    const inputs =
      item && "inputs" in item ? item.inputs.filter((one) => !("indexed" in one && one.indexed)) : [];
    const topics = encodeEventTopics({ abi: agenticIdAbi, eventName, args } as never) as Hex[];
    return {
      address: contract,
      topics: topics.map(lowerHex),
      data: encodeAbiParameters(inputs, rest as never),
      blockNumber: BigInt(block),
      blockHash: `0x${block.toString(16).padStart(64, "0")}`,
      transactionHash: `0x${block.toString(16).padStart(64, "1")}`,
      logIndex,
    };
  }
});
