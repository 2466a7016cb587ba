import { z } from "zod";
import type { StorageStatus } from "../../storage/submissions/submissions.service.ts";
import { envelope, envelopeOf } from "../envelope.ts";
import { defineRoute, json } from "../route.ts";

const count = z.int().min(0);

/** The sync status of the storage network (facts: storage section 1.5). */
const NODE_STATUS = z
  .strictObject({
    connectedPeers: count,
    logSyncHeight: count,
    logSyncBlock: z.string().regex(/^0x[0-9a-f]{64}$/),
    nextTxSeq: count,
    networkIdentity: z.strictObject({
      chainId: count,
      flowAddress: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
      p2pProtocolVersion: z.strictObject({ major: count, minor: count, build: count }),
    }),
  })
  .meta({ id: "NodeStatus" });

/** `GET /node/status`: how far this gateway has synced the chain, and of which network it is. */
export const getNodeStatus = defineRoute({
  method: "GET",
  url: "/node/status",
  summary: "Retrieve the sync status of the storage network",
  access: "public",
  errors: "storage",
  allowAnyOrigin: true,
  answer: { json: envelopeOf(NODE_STATUS) },
  async handle(app) {
    return json(envelope(toNodeStatus(await app.submissions.status())));
  },
});

/** The status in a storage node's format. This gateway is a client of the network's nodes and has no peers. */
export function toNodeStatus(status: StorageStatus): z.output<typeof NODE_STATUS> {
  const { logSyncHeight, logSyncBlock, nextTxSeq, chainId, flowAddress } = status;
  const p2pProtocolVersion = { major: 0, minor: 0, build: 0 };
  return {
    connectedPeers: 0,
    logSyncHeight: Number(logSyncHeight),
    logSyncBlock,
    nextTxSeq: Number(nextTxSeq),
    networkIdentity: { chainId, flowAddress, p2pProtocolVersion },
  };
}
