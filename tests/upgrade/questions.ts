import { call, query, type Target } from "./calls.ts";
import type { FilledAccount, SmallAccount } from "./fill-accounts.ts";
import type { FilledChain } from "./fill-chain.ts";
import { type FilledJobs, jobOf } from "./fill-inference.ts";
import type { FilledStorage } from "./fill-storage.ts";

/** Lists with the size of their first page. Until the answers are compared, nothing is added to a second page. */
const LISTS = {
  requests: { open: "viewer { account { list: requests", close: "} }", first: 8 },
  deposits: { open: "viewer { account { list: deposits", close: "} }", first: 1 },
  apiKeys: { open: "viewer { account { list: apiKeys", close: "} }", first: 2 },
  agentTokens: { open: "list: agentTokens", close: "", first: 2 },
  files: { open: "list: files", close: "", first: 3 },
} as const;
type ListName = keyof typeof LISTS;

/** Everything that a release was filled with. */
export type Filled = {
  readonly account: FilledAccount;
  readonly small: SmallAccount;
  readonly storage: FilledStorage;
  readonly chain: FilledChain;
  readonly jobs: FilledJobs;
  /** The requests that had not ended when the release stopped. */
  readonly unended: readonly string[];
  /** Where a client has stopped reading each of the lists. */
  readonly pageCursors: Readonly<Record<ListName, string>>;
  /** A position in the streams of events, before everything else. */
  readonly eventCursor: string;
};

const ACCOUNT = `{ viewer { account {
  balance { total deposit credit }
  deposits(first: 100) { nodes { id: depositId amount status transactionHash blockNumber seenAt creditedAt } }
  usage { stats { requests: requestCount inputTokens outputTokens cachedTokens cost } daily { date modelId stats { requests: requestCount cost } } }
  apiKeys(first: 100) { nodes { id: keyId name preview status permission createdAt expiresAt creditLimit used resetPeriod
    allowedModels allowedProviders trustMode } }
  requests(first: 100) { nodes { id: requestId createdAt finishedAt status serviceType modelId providerAddress inputTokens
    outputTokens usageEstimated errorCode cost { input output total } apiKey { id: keyId }
    evidence { verified verdict provider: providerAddress answerId text signature signer } } } } } }`;

const ROUTING = `{ viewer { account { requests(first: 20) { nodes { id: requestId status
  routing { tried: attempts { provider: providerAddress outcome reason status durationMs } refused: excluded { provider: providerAddress reason } } } } } } }`;

const JOB = `query ($id: ID!) { imageJob(id: $id) {
  id: jobId createdAt updatedAt finishedAt status sequence attempt fraction errorCode errorMessage modelId providerAddress } }`;

const SEALED_KEYS = `query ($receiver: Address!) {
  sealedKeys(to: $receiver, first: 10) { nodes { id: eventId cause contract tokenId keyCount transactionHash blockNumber seenAt
    to { address } from { address } keys { index dataHash key sizeBytes } } } }`;

const AGENTS = `{ agentTokens(first: 10) { nodes {
  contract tokenId movedWithoutKey transactionHash owner { address } creator { address }
  data { description dataHash } authorizedUsers { address } transfers(first: 5) { nodes { withKey transactionHash } }
  authorizations(first: 5) { nodes { blockNumber endedBlock: endedBlockNumber user { address } } }
  clones(first: 5) { nodes { transactionHash } } } } }`;

const MARKET = `{ market { fills(first: 10) {
  nodes { tokenId price fee seller { address } buyer { address } transactionHash } } } }`;

const FILE =
  "query ($root: Hash32!) { file(root: $root) { root size: sizeBytes firstTxSeq segments: segmentCount uploadedSegments: uploadedSegmentCount status } }";

const STREAM = `query ($stream: Hash32!) {
  kvStream(streamId: $stream) { firstVersion entries(first: 10) { nodes { key keyText text version size: sizeBytes } } } }`;

const KV_PAST = `query ($stream: Hash32!, $version: BigInt!) {
  kvEntries(streamId: $stream, version: $version, first: 10) { nodes { keyText text } }
  kvTransaction(txSeq: $version) { result isCommitted: committed } }`;

/**
 * Asks a product for everything that may not change when it is upgraded: the release that made the fixture, and
 * then the present version, which must give the same answers. What may change meanwhile is not asked: what is
 * held, jobs that were not over, and times of last use.
 */
export async function askAll(target: Target, filled: Filled): Promise<Readonly<Record<string, unknown>>> {
  const { account, small, storage, chain, jobs } = filled;
  const { reader, admin } = account.managementKeys;
  const { plain } = account.apiKeys;
  const over = [jobs.completed, jobs.failed, jobs.cancelled];
  const stream = storage.stream.streamId;
  const roots = [...storage.files, storage.partial].map(({ root }) => root);
  return {
    account: await accountOf(target, reader, filled),
    small: await accountOf(target, small.reader, filled),
    balance: withoutHeld(await call(target, "/v1/account/balance", reader)),
    usage: await call(target, "/v1/account/usage/stats", reader),
    history: await historyOf(target, reader),
    apiKeys: await keyNames(target, admin),
    routing: await routingOf(target, reader, filled),
    jobs: await Promise.all(over.map((id) => query(target, plain, JOB, { id }))),
    jobStates: await Promise.all(over.map(async (id) => (await jobOf(target, plain, id)).status)),
    sealedKeys: await query(target, undefined, SEALED_KEYS, { receiver: chain.receiver }),
    agents: await query(target, undefined, AGENTS),
    market: await query(target, undefined, MARKET),
    files: await Promise.all(roots.map((root) => query(target, undefined, FILE, { root }))),
    stream: await query(target, undefined, STREAM, { stream }),
    pages: await secondPages(target, reader, filled),
    past: await query(target, undefined, KV_PAST, { stream, version: storage.stream.txSeqs[0] }),
  };
}

type RequestRow = { readonly id: string; readonly status: string };
type KeyRow = { readonly resetPeriod: string; readonly used: string };

/** The account without what time changes: requests that had not ended, and what keys spent in the present month. */
async function accountOf(target: Target, reader: string, { unended }: Pick<Filled, "unended">) {
  const { account } = (await query(target, reader, ACCOUNT)).viewer;
  const requests = account.requests.nodes.filter(({ id }: RequestRow) => !unended.includes(id));
  const apiKeys = account.apiKeys.nodes.map(({ used, ...key }: KeyRow) =>
    key.resetPeriod === "NEVER" ? { ...key, used } : key,
  );
  return { ...account, requests, apiKeys };
}

async function routingOf(target: Target, reader: string, { unended }: Pick<Filled, "unended">) {
  const nodes: readonly RequestRow[] = (await query(target, reader, ROUTING)).viewer.account.requests.nodes;
  return nodes.filter(({ id }) => !unended.includes(id));
}

/** Reads the first page of each list. Returns the cursors after which the second begins. */
export async function readPageCursors(target: Target, reader: string): Promise<Filled["pageCursors"]> {
  const cursors = Object.keys(LISTS).map(async (name) => {
    const { endCursor } = (await pageOf(target, reader, name as ListName)).pageInfo;
    return [name, endCursor];
  });
  return Object.fromEntries(await Promise.all(cursors));
}

/** The rows after the cursors, each by its own cursor. */
async function secondPages(target: Target, reader: string, { pageCursors }: Filled) {
  const pages = Object.entries(pageCursors).map(async ([name, after]) => {
    const { edges } = await pageOf(target, reader, name as ListName, after);
    return [name, edges.map(({ cursor }: { cursor: string }) => cursor)];
  });
  return Object.fromEntries(await Promise.all(pages));
}

async function pageOf(target: Target, reader: string, name: ListName, after?: string) {
  const { open, close, first } = LISTS[name];
  const args = after === undefined ? `first: ${first}` : `first: 20, after: "${after}"`;
  const text = `{ ${open}(${args}) { edges { cursor } pageInfo { endCursor } } ${close} }`;
  const data = await query(target, reader, text);
  return data.list ?? data.viewer.account.list;
}

/** The ids of requests that have not ended, newest first. */
export async function unendedOf(target: Target, reader: string): Promise<readonly string[]> {
  const nodes: readonly RequestRow[] = (await query(target, reader, ACCOUNT)).viewer.account.requests.nodes;
  return nodes.filter(({ status }) => status === "RUNNING").map(({ id }) => id);
}

/** Held amounts change when holds of a killed process are released. */
function withoutHeld({ deposit_balance, credit_balance, total_balance }: Record<string, unknown>) {
  return { deposit_balance, credit_balance, total_balance };
}

/** Without the numbers, which only order the rows, as versions count differently, and without what only later versions report. */
async function historyOf(target: Target, reader: string) {
  type Row = Readonly<Record<string, unknown>>;
  const { data } = await call<{ data: readonly Row[] }>(target, "/v1/account/usage/history", reader);
  return data.map(({ id, cache_saving, ...row }) => row);
}

async function keyNames(target: Target, admin: string) {
  type Row = { readonly name: string; readonly status: string };
  const { data } = await call<{ data: readonly Row[] }>(target, "/v1/api-keys", admin);
  return data.map(({ name, status }) => ({ name, status }));
}
