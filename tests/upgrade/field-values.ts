import { query, type Target } from "./calls.ts";
import type { Filled } from "./questions.ts";

const SOME = `{
  providers(first: 1) { nodes { address } }
  agentTokens(first: 1) { nodes { contract tokenId } }
  viewer { account { requests(first: 1) { nodes { requestId } } } }
}`;

/**
 * Literals of required arguments that find something in a filled product, by the arguments' names, or by
 * `Type.field.name` where one name means several things.
 */
export async function fieldValues(target: Target, filled: Filled): Promise<Readonly<Record<string, string>>> {
  const { account, storage, chain, jobs } = filled;
  const { providers, agentTokens, viewer } = await query(target, account.session, SOME);
  const [provider] = providers.nodes;
  const [token] = agentTokens.nodes;
  const [request] = viewer.account.requests.nodes;
  const texts = {
    ...{ account: account.address, address: account.address, provider: provider.address },
    ...{ contract: token.contract, tokenId: token.tokenId, owner: chain.receiver, to: chain.receiver },
    ...{ user: account.address, assistant: account.address, recipient: account.address },
    ...{ creator: account.address, minter: account.address, partner: account.address },
    ...{ amount: "1", currency: account.address, additionalInfo: "{}", deliverableId: "d" },
    ...{ root: storage.files[0]?.root, streamId: storage.stream.streamId, txSeq: storage.stream.txSeqs[0] },
    ...{ requestId: request.requestId, epoch: "0", quorumId: "0", message: "wrong app hash" },
    "File.entry.path": "small",
    "Query.provider.address": provider.address,
    "Query.request.id": request.requestId,
    "Query.imageJob.id": jobs.completed,
    "Query.model.id": "devnet-chat",
    "Query.prepareMint.from": account.address,
    "Query.prepareCurrencyApproval.from": account.address,
    "ReceiptLog.consistencyProof.from": "1",
  };
  const quoted = Object.entries(texts).map(([name, text]) => [name, JSON.stringify(text)] as const);
  return {
    ...Object.fromEntries(quoted),
    ...{ segment: "0", rowIndex: "0", acknowledged: "true", withRole: "false", reverse: "false" },
    ...{ by: "DAY", groupBy: "[MODEL]", service: "INFERENCE", serviceType: "CHATBOT", name: "AGENT_NFT" },
    ...{ proofs: "[]", data: "[]", ids: '["none"]', tokenIds: "[1]", payment: "NATIVE" },
    accounts: JSON.stringify([account.address]),
    providers: JSON.stringify([provider.address]),
  };
}
