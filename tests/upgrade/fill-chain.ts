import type { Hex } from "viem";
import { DEPLOYER } from "../../src/devnet/chain/accounts.ts";
import { agentProofs, iClone, iTransfer, mintAgent, newData, writeAgent } from "../support/chain/agents.ts";
import { newTrader, sendPrepared, signTyped, type Trader } from "../support/chain/market.ts";
import { until } from "../support/until.ts";
import { query, type Target } from "./calls.ts";

/** A signed order that no offer has fulfilled. */
type OpenOrder = { readonly order: object; readonly signature: Hex };

/** Agent tokens and the market. */
export type FilledChain = {
  /** The receiver of sealed keys. */
  readonly receiver: Hex;
  readonly tokenIds: readonly string[];
  readonly openOrder: OpenOrder;
};

/** 2100, by the chain's clock. */
const EXPIRE_TIME = "4102444800";
const PRICE = "1000000";
const PREPARED = "{ to data value }";

/** Mints, transfers, clones, authorizes and delegates, sells one token, and offers another for sale. */
export async function fillChain(target: Target): Promise<FilledChain> {
  const { rpcUrl } = target;
  const [owner, receiver, user] = [await newTrader(rpcUrl), await newTrader(rpcUrl), await newTrader(rpcUrl)];
  const data = [newData("mind"), newData("memory")];
  const moved = await mintAgent(rpcUrl, { to: owner.address, data, byKey: owner.privateKey });
  const move = { byKey: owner.privateKey, from: owner.address, to: receiver.address };
  const proofs = () => agentProofs(data, { to: receiver });
  const clone = await iClone(rpcUrl, { ...move, tokenId: moved.tokenId, proofs: await proofs() });
  await iTransfer(rpcUrl, { ...move, tokenId: moved.tokenId, proofs: await proofs() });
  const byReceiver = receiver.privateKey;
  await writeAgent(rpcUrl, byReceiver, "authorizeUsage", [moved.tokenId, user.address]);
  await writeAgent(rpcUrl, byReceiver, "authorizeUsage", [clone.tokenId, user.address]);
  await writeAgent(rpcUrl, byReceiver, "revokeAuthorization", [clone.tokenId, user.address]);
  await writeAgent(rpcUrl, byReceiver, "delegateAccess", [user.address]);
  await writeAgent(rpcUrl, DEPLOYER.privateKey, "setCreator", [moved.tokenId, owner.address]);
  const sold = await sell(target);
  const { openOrder, tokenId } = await offerForSale(target);
  await untilRead(target, receiver.address, tokenId);
  return {
    receiver: receiver.address,
    tokenIds: [moved.tokenId, clone.tokenId, sold, tokenId].map(String),
    openOrder,
  };
}

/** Sells a new token on the market. Returns its id. */
async function sell(target: Target): Promise<bigint> {
  const { rpcUrl } = target;
  const buyer = await newTrader(rpcUrl);
  const { openOrder, data, tokenId } = await offerForSale(target);
  const fields = { tokenId: String(tokenId), expireTime: EXPIRE_TIME, offerPrice: PRICE };
  const offer = await sign(target, "Offer", fields, buyer);
  const proofs = await agentProofs(data, { to: buyer });
  const text = `query ($order: MarketOrderInput!, $orderSignature: Hex!, $offer: MarketOfferInput!,
    $offerSignature: Hex!, $proofs: [TransferProofInput!]!) { prepareFulfillOrder(order: $order,
    orderSignature: $orderSignature, offer: $offer, offerSignature: $offerSignature, proofs: $proofs) ${PREPARED} }`;
  const prepared = await query(target, undefined, text, {
    order: openOrder.order,
    orderSignature: openOrder.signature,
    offer: offer.input,
    offerSignature: offer.signature,
    proofs: proofs.map(({ accessProof, ownershipProof }) => ({
      accessProof,
      ownershipProof: { ...ownershipProof, oracleType: "TEE" },
    })),
  });
  await sendPrepared(rpcUrl, buyer, prepared.prepareFulfillOrder);
  return tokenId;
}

/** A new token, approved for the market, and its owner's signed order. */
async function offerForSale(target: Target) {
  const { rpcUrl } = target;
  const seller = await newTrader(rpcUrl);
  const data = [newData("for sale")];
  const { tokenId } = await mintAgent(rpcUrl, { to: seller.address, data });
  const text = `{ prepareMarketApproval(tokenId: "${tokenId}") ${PREPARED} }`;
  const { prepareMarketApproval } = await query(target, undefined, text);
  await sendPrepared(rpcUrl, seller, prepareMarketApproval);
  const fields = { tokenId: String(tokenId), expireTime: EXPIRE_TIME, expectedPrice: PRICE };
  const { input, signature } = await sign(target, "Order", fields, seller);
  return { openOrder: { order: input, signature }, data, tokenId };
}

async function sign(target: Target, kind: "Order" | "Offer", fields: object, trader: Trader) {
  const text = `query ($fields: Market${kind}Input!) {
    signable: market${kind}TypedData(${kind.toLowerCase()}: $fields) { typedData nonce } }`;
  const { signable } = await query(target, undefined, text, { fields });
  return {
    input: { ...fields, nonce: signable.nonce },
    signature: await signTyped(trader, signable.typedData),
  };
}

/** The product has read everything: both sealed keys, the sale, and the last token. */
async function untilRead(target: Target, receiver: Hex, lastToken: bigint): Promise<void> {
  await until(async () => {
    const { sealedKeys, market, agentTokens } = await query(
      target,
      undefined,
      `{ sealedKeys(to: "${receiver}") { nodes { id } } market { fills { nodes { tokenId } } }
        agentTokens { nodes { tokenId } } }`,
    );
    const isMinted = agentTokens.nodes.some(
      ({ tokenId }: { tokenId: string }) => tokenId === String(lastToken),
    );
    return sealedKeys.nodes.length === 2 && market.fills.nodes.length === 1 && isMinted;
  });
}
