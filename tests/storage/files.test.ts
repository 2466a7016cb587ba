// @module-tag large
import { randomBytes } from "node:crypto";
import { bytesToHex, keccak256, parseEther } from "viem";
import { expect, onTestFinished, test } from "vitest";
import { flowAbi } from "../../src/chain/abi/flow.ts";
import { createRpc } from "../../src/chain/rpc/rpc.client.ts";
import { LogWatcher } from "../../src/chain/watcher/log-watcher.ts";
import type { Database } from "../../src/db/database.ts";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { connectDevnet, mined } from "../../src/devnet/chain/chain-client.ts";
import { deployContracts } from "../../src/devnet/chain/deploy.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { findHeld } from "../../src/storage/node/held/held-files.store.ts";
import { fileRoot } from "../../src/storage/submissions/submission.ts";
import { SubmissionsService } from "../../src/storage/submissions/submissions.service.ts";
import { findFirst } from "../../src/storage/submissions/submissions.store.ts";
import { startChain } from "../support/chain/chain.ts";
import { type RpcProxy, startRpcProxy } from "../support/chain/rpc-proxy.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { submissionIdentity } from "../support/storage/submission-identity.ts";
import { until } from "../support/until.ts";

const sender = DEMO_USER.address.toLowerCase();
/** The submitter that submissions name, which may be any address. */
const named = "0x1111111111111111111111111111111111111111";

test("one file among thousands is found with few index reads, without table statistics", async () => {
  const database = await openTestDatabase("embedded");
  await database.rows(`
    insert into submission (chain_id, tx_seq, root, submitter, identity, size_bytes, start_entry_index, sectors, tags,
      nodes, transaction_hash, transaction_sender, log_index, block_number, block_hash)
    select 16602, s, '0x' || md5(s::text) || md5(s::text), '0x', '0x', 1024, s, 4, '0x', '[]', '0x' || s, '0x', 0, s, '0x'
    from generate_series(0, 4999) as s`);
  const [row] = await database.rows<{ root: Hex }>("select root from submission where tx_seq = 2500");
  const root = row?.root ?? "0x";
  const before = await entriesRead(database);
  expect(await findHeld(database, 16_602, [{ root }])).toMatchObject([{ root, txSeq: 2_500n }]);
  expect(await findFirst(database, 16_602, [root])).toMatchObject([{ first: { root } }]);
  expect((await entriesRead(database)) - before).toBeLessThan(20);
});

/** The number of index entries of submissions read so far. */
async function entriesRead(database: Database): Promise<number> {
  await database.rows("select pg_stat_force_next_flush()");
  const [row] = await database.rows<{ read: number }>(
    "select sum(idx_tup_read)::int as read from pg_stat_user_indexes where relname = 'submission'",
  );
  return row?.read ?? 0;
}

describeDatabases("files", (kind) => {
  test("a submitted file is found by its root and its sequence number, under both ABIs of Flow", async () => {
    const { submissions, submit, scanned } = await startStorage(await openTestDatabase(kind));
    const nodes = [newNode(2), newNode(0)];
    const root = fileRoot(nodes);
    await submit({ sizeBytes: 1_200n, nodes });
    await submit({ sizeBytes: 100n, nodes: [newNode(0)] });
    await submit({ sizeBytes: 1_200n, nodes, oldAbi: true });
    await scanned();
    const file = { root, sizeBytes: 1_200n, firstTxSeq: 0n, submissions: 2 };
    const spelled = root.toUpperCase().replace("0X", "0x") as Hex;
    expect(await submissions.filesByRoots([root, spelled])).toEqual([file, file]);
    expect(await submissions.find(2n)).toMatchObject({ root });
    expect(await submissions.find(1n)).toMatchObject({ sizeBytes: 100n });
    expect(await submissions.find(3n)).toBeUndefined();
    expect(await submissions.nextTxSeq()).toBe(3n);
    expect(await submissions.filesByRoots([newNode(0).root, root])).toEqual([undefined, file]);
    expect(await submissions.find(0n)).toMatchObject({
      ...{
        root,
        submitter: named,
        transactionSender: sender,
        sizeBytes: 1_200n,
        sectors: 5n,
        tags: "0xdf2f",
        nodes,
        chainId: 16_602,
      },
      identity: submissionIdentity(nodes),
      seenAt: expect.any(Date),
    });
  });

  test("lists are paged, newest first", async () => {
    const { submissions, submit, scanned } = await startStorage(await openTestDatabase(kind));
    const nodes = [newNode(0)];
    for (let turn = 0; turn < 3; turn++) await submit({ sizeBytes: 5n, nodes });
    await scanned();
    const root = fileRoot(nodes);
    const first = await submissions.list({ first: 2 }, { root });
    expect(first.rows.map(({ txSeq }) => txSeq)).toEqual([2n, 1n]);
    expect(first.hasNextPage).toBe(true);
    const rest = await submissions.list({ first: 2, after: first.rows.at(-1)?.cursor }, { root });
    expect(rest).toMatchObject({ rows: [{ txSeq: 0n }], hasNextPage: false });
    expect((await submissions.list({ first: 9 }, { sender: DEMO_USER.address })).rows).toHaveLength(3);
    expect((await submissions.list({ first: 9 }, { sender: named })).rows).toEqual([]);
    expect((await submissions.list({ first: 9 })).rows).toHaveLength(3);
    expect((await submissions.files({ first: 9 }, { owner: DEMO_USER.address })).rows).toMatchObject([
      { txSeq: 0n, root },
    ]);
    expect((await submissions.listFrom(1n, 9)).map(({ txSeq }) => txSeq)).toEqual([1n, 2n]);
    await expect(submissions.list({ first: 9, after: "WyJ4Il0" })).rejects.toMatchObject({
      code: "invalid_cursor",
    });
  });

  test("submissions are read with their signers, also from an endpoint that answers few calls at a time", async () => {
    let calls = 0;
    const { submissions, submit, scanned } = await startStorage(await openTestDatabase(kind), ({ method }) =>
      method === "eth_getTransactionByHash" && ++calls % 3 > 0
        ? { error: { code: -32_005, message: "too many requests" } }
        : "pass",
    );
    for (let turn = 0; turn < 4; turn++) await submit({ sizeBytes: 5n, nodes: [newNode(0)] });
    await scanned();
    const { rows } = await submissions.list({ first: 9 }, { sender: DEMO_USER.address });
    expect(rows.map(({ txSeq }) => txSeq)).toEqual([3n, 2n, 1n, 0n]);
  });

  test("a reorged-out submission is removed, and another may take its sequence number", async () => {
    const database = await openTestDatabase(kind);
    const { chain, submissions, submit, scanned } = await startStorage(database);
    const [lost, kept] = [newNode(0), newNode(1)];
    await submit({ sizeBytes: 5n, nodes: [lost] });
    await scanned();
    await chain.reorg(1);
    await until(async () => (await submissions.find(0n)) === undefined);
    await submit({ sizeBytes: 500n, nodes: [kept] });
    await scanned();
    expect(await submissions.filesByRoots([lost.root])).toEqual([undefined]);
    expect(await submissions.find(0n)).toMatchObject({ root: kept.root, sizeBytes: 500n });
    expect(await eventsOf(database, lost.root)).toEqual([
      { root: lost.root, txSeq: "0", size: "5", removed: false },
      { root: lost.root, txSeq: "0", size: "5", removed: true },
    ]);
    expect(await eventsOf(database, kept.root)).toEqual([
      { root: kept.root, txSeq: "0", size: "500", removed: false },
    ]);
  });
});

type Upload = {
  readonly sizeBytes: bigint;
  readonly nodes: readonly { readonly root: Hex; readonly height: number }[];
  readonly oldAbi?: boolean;
};

async function startStorage(database: Database, judge: RpcProxy["judge"] = () => "pass") {
  const chain = await startChain();
  const proxy = await startRpcProxy(chain.url);
  proxy.judge = judge;
  const { flow } = await deployContracts(chain.url);
  const wallet = await connectDevnet(chain.url, DEMO_USER.privateKey);
  const submissions = new SubmissionsService({ queries: database, chainId: 16_602, flow, watcher: "files" });
  const log = createLogger("silent");
  const rpc = createRpc({ urls: [proxy.url], network: "devnet", chainId: 16_602, log });
  const needs = {
    name: "storage",
    rpc,
    database,
    startBlock: 0n,
    confirmations: 5,
    handlers: [submissions],
    log,
    pollMs: 20,
  };
  const watcher = new LogWatcher(needs);
  onTestFinished(() => watcher.stop());
  watcher.start();
  return {
    chain,
    submissions,
    async submit({ sizeBytes, nodes, oldAbi }: Upload) {
      const flowNodes = nodes.map(({ root, height }) => ({ root, height: BigInt(height) }));
      const data = { length: sizeBytes, tags: "0xdf2f", nodes: flowNodes } as const;
      const call = { address: flow, abi: flowAbi, functionName: "submit", value: parseEther("1") } as const;
      const args = oldAbi ? ([data] as const) : ([{ data, submitter: named }] as const);
      await mined(wallet, await wallet.writeContract({ ...call, args }));
    },
    async scanned() {
      const height = await chain.height();
      await until(() => watcher.status().scannedBlock === height);
    },
  };
}

function newNode(height: number) {
  return { root: keccak256(bytesToHex(randomBytes(32))), height };
}

async function eventsOf(database: Database, root: Hex): Promise<readonly unknown[]> {
  const rows = await database.rows<{ data: string }>(
    "select data::text as data from outbox where topic = 'file.submitted' and subject = $1 order by id",
    [root],
  );
  return rows.map(({ data }) => JSON.parse(data));
}
