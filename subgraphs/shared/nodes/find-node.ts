import { readBatchId } from "../../../src/inference/batches/batch-id.ts";
import { isAddress, isHash32, lowerHex } from "../../../src/kernel/text/hex.ts";
import { isStorable } from "../../../src/kernel/text/storable.ts";
import { permit } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../context.ts";
import { type NodeName, readNodeId } from "./node-id.ts";

type Found = object | null | undefined;
type Finder<Row extends Found = Found> = (key: string, context: Context) => Row | Promise<Row>;

/**
 * Finds an entity by its raw key: the one way to it, for its own root field, for `node`, and for other subgraphs. It
 * throws what the caller's credential is not permitted to read, and finds nothing for a malformed key.
 */
export const NODE_FINDERS = {
  Account: (key) => (isAddress(key) ? { address: lowerHex(key) } : null),
  ApiKey: async (key, { principal, loaders }) => {
    const { account } = permit(principal, "api-key.read");
    const found = await loaders.apiKeys.load(key);
    return found?.account === account ? found : null;
  },
  ManagementKey: (key, { principal, services }) =>
    services.managementKeys.find(permit(principal, "management-key.read").account, key),
  Deposit: async (key, { principal, services }) => {
    const { account } = permit(principal, "deposit.read");
    if (!isStorable(key)) return null;
    const found = await services.deposits.byId(key);
    return found?.account === account ? found : null;
  },
  Webhook: (key, { principal, services }) =>
    services.webhooks.find(permit(principal, "webhook.read").account, key),
  TagBudget: (key, { principal, services }) =>
    services.tagBudgets.find(permit(principal, "tag-budget.read").account, key),
  ImageJob: (key, { principal, services }) => services.jobs.find(permit(principal, "job.read"), key),
  Batch: (key, { principal, services }) =>
    services.batches.find(permit(principal, "job.read"), readBatchId(key)),
  InferenceRequest: (key, { principal, loaders }) => {
    permit(principal, "request.read");
    return isStorable(key) ? loaders.requests.load(key) : null;
  },
  Model: (key, { services }) => services.catalogue.model(key),
  Provider: (key, { services }) => services.catalogue.provider(key),
  File: (key, { loaders }) => (isHash32(key) ? loaders.files.load(lowerHex(key)) : null),
  Submission: (key, { services }) => (isCount(key) ? services.submissions.find(BigInt(key)) : null),
  KvStream: (key, { services }) => (isHash32(key) ? services.kv.stream(lowerHex(key)) : null),
  KvTransaction: (key, { loaders }) => (isCount(key) ? loaders.kvTransactions.load(BigInt(key)) : null),
  AgentToken: (key, { loaders }) => {
    const [contract = "", tokenId = "", ...rest] = key.split(":");
    if (!isAddress(contract) || !isUint256(tokenId) || rest.length > 0) return null;
    return loaders.agentTokens.load({ contract: lowerHex(contract), tokenId: BigInt(tokenId) });
  },
  AgentContract: (key, { services }) =>
    services.agentTokens.contracts().find(({ address }) => lowerHex(address) === key.toLowerCase()),
  SealedKey: (key, { loaders }) => (isStorable(key) ? loaders.sealedKeys.load(key) : null),
  Network: (key, { services }) => services.chain.networks().find(({ id }) => id === key),
} as const satisfies Record<NodeName, Finder>;

/** Finds an entity that another subgraph names by its global id; null for an id of another type. */
export function nodeReference(
  name: NodeName,
): (reference: object, context: Context) => Found | Promise<Found> {
  return (reference, context) => {
    const node = readNodeId(String((reference as { readonly id: unknown }).id));
    const find: Finder = NODE_FINDERS[name];
    return node?.name === name ? find(node.key, context) : null;
  };
}

/** Finds an entity that another subgraph names by its global id, or by another key, which `byKey` reads. */
export function nodeOrKeyReference<Row extends Found>(
  name: NodeName,
  byKey: { find(reference: object, context: Context): Row | Promise<Row> }["find"],
): (reference: object, context: Context) => Found | Promise<Found> {
  const byId = nodeReference(name);
  return (reference, context) => ("id" in reference ? byId(reference, context) : byKey(reference, context));
}

/** A sequence number of the chain: what fits the database's BIGINT. */
function isCount(text: string): boolean {
  return /^(0|[1-9]\d{0,17})$/.test(text);
}

function isUint256(text: string): boolean {
  return /^(0|[1-9]\d{0,77})$/.test(text) && BigInt(text) < 2n ** 256n;
}
