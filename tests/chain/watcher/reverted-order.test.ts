import { encodeAbiParameters, encodeEventTopics, keccak256, parseAbi, toHex } from "viem";
import { expect, test } from "vitest";
import { DepositsService } from "../../../src/accounts/deposits.service.ts";
import { DEFAULT_VAULT_EVENT } from "../../../src/accounts/vault-event.ts";
import type { ChainLog, LogHandler } from "../../../src/chain/watcher/log-handler.ts";
import type { Database } from "../../../src/db/database.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { forgetFrom } from "../../../src/storage/kv/replay.store.ts";
import { SubmissionsService } from "../../../src/storage/submissions/submissions.service.ts";
import { insertSubmissions } from "../../../src/storage/submissions/submissions.store.ts";
import { newAccount } from "../../support/chain/deposits.ts";
import { openTestDatabase } from "../../support/servers/database.ts";

const CHAIN_ID = 16_602;
/** Rows are stored in another order than that of the chain, as after an update. */
const NUMBERS = [12n, 10n, 13n, 11n];
const NEWEST_FIRST = [13n, 12n, 11n, 10n];

const hashOf = (text: string) => keccak256(toHex(text));
const placeAt = (number: bigint) => ({
  blockNumber: number,
  blockHash: hashOf(`block ${number}`),
  transactionHash: hashOf(`transaction ${number}`),
  logIndex: 0,
});

const inOneTransaction = (
  database: Database,
  work: (tx: Parameters<LogHandler["apply"]>[0]) => Promise<void>,
) => database.transaction(work);

async function submit(database: Database, flow: Hex): Promise<void> {
  for (const number of NUMBERS)
    await database.transaction((tx) =>
      insertSubmissions(tx, [
        {
          ...{ ...placeAt(number), chainId: CHAIN_ID, txSeq: number, root: hashOf(`root ${number}`) },
          ...{ submitter: flow, transactionSender: flow, identity: hashOf("identity"), sizeBytes: 1n },
          ...{ startEntryIndex: number, sectors: 1n, tags: "0x", nodes: [] },
        },
      ]),
    );
}

test("submissions that a reorg reverts together are published as removed, newest first", async () => {
  const [database, flow] = [await openTestDatabase(), newAccount()];
  await submit(database, flow);
  const service = new SubmissionsService({ queries: database, chainId: CHAIN_ID, flow, watcher: "files" });
  await inOneTransaction(database, (tx) => service.revert(tx, 10n));
  const rows = await database.rows<{ seq: string; removed: boolean }>(
    `select data->>'txSeq' as seq, (data->>'removed')::boolean as removed from outbox
     where topic = 'file.submitted' order by id`,
  );
  expect(rows).toEqual(NEWEST_FIRST.map((seq) => ({ seq: seq.toString(), removed: true })));
});

test("key-value transactions that a reorg reverts together are undone newest first", async () => {
  const [database, flow] = [await openTestDatabase(), newAccount()];
  await submit(database, flow);
  await database.rows(
    `insert into kv_transaction (chain_id, tx_seq, root, sender, result, is_committed)
     select chain_id, tx_seq, root, transaction_sender, 'Commit', true from submission`,
  );
  const gone = await database.transaction((tx) => forgetFrom(tx, CHAIN_ID, 10n));
  expect(gone.map(({ txSeq }) => txSeq)).toEqual(NEWEST_FIRST);
});

const VAULT_ABI = parseAbi(["event Deposited(address indexed account, uint256 amount)"]);

function depositsOf(database: Database, vault: Hex) {
  const scannedBlock = async () => undefined;
  return new DepositsService({
    ...{ database, chainId: CHAIN_ID, confirmations: 0, scannedBlock },
    vault: { address: vault, ...DEFAULT_VAULT_EVENT },
  });
}

function depositLog(vault: Hex, account: Hex, number: bigint): ChainLog {
  const topics = encodeEventTopics({ abi: VAULT_ABI, eventName: "Deposited", args: { account } });
  const data = encodeAbiParameters([{ type: "uint256" }], [number]);
  return { ...placeAt(number), address: vault, topics: topics as Hex[], data };
}

test("deposits of an account that a reorg reverts together are published as reverted, newest first", async () => {
  const [database, vault, account] = [await openTestDatabase(), newAccount(), newAccount()];
  const deposits = depositsOf(database, vault);
  for (const number of NUMBERS)
    await inOneTransaction(database, (tx) => deposits.apply(tx, [depositLog(vault, account, number)]));
  await inOneTransaction(database, (tx) => deposits.revert(tx, 10n, "reorg"));
  const rows = await database.rows<{ amount: string }>(
    "select data->>'amount' as amount from outbox where data->>'status' = 'reverted' order by id",
  );
  expect(rows.map(({ amount }) => BigInt(amount))).toEqual(NEWEST_FIRST);
});

test("a credited deposit whose loss was accepted does not halt the watcher at the next reorg", async () => {
  const [database, vault, account] = [await openTestDatabase(), newAccount(), newAccount()];
  const deposits = depositsOf(database, vault);
  await inOneTransaction(database, async (tx) => {
    await deposits.apply(tx, [depositLog(vault, account, 10n)]);
    await deposits.confirm(tx, 10n);
  });
  await expect(inOneTransaction(database, (tx) => deposits.revert(tx, 9n, "reorg"))).rejects.toThrow(
    "a credited deposit of block 9 or above is gone from the chain",
  );
  await inOneTransaction(database, (tx) => deposits.revert(tx, 9n, "accepted"));
  await inOneTransaction(database, (tx) => deposits.revert(tx, 9n, "reorg"));
  // Mined again, it is credited still only once, and may not be reverted by a reorg.
  await inOneTransaction(database, (tx) => deposits.apply(tx, [depositLog(vault, account, 10n)]));
  await expect(inOneTransaction(database, (tx) => deposits.revert(tx, 9n, "reorg"))).rejects.toThrow(
    "a credited deposit",
  );
});
