import { hashTypedData, type TypedDataDomain, zeroAddress } from "viem";
import type { Hex } from "../../kernel/text/hex.ts";

/** The order that a seller signs. Amounts are in the smallest unit of the currency. */
export type MarketOrder = {
  readonly tokenId: bigint;
  /** The minimum price of a matching offer. */
  readonly expectedPrice: bigint;
  /** An ERC-20 contract; null for the network's own token. */
  readonly currency: Hex | null;
  /** The last second at which the order is valid, Unix time. */
  readonly expireTime: bigint;
  readonly nonce: Hex;
  /** The only account that may buy; null for any account. */
  readonly receiver: Hex | null;
};

/** The offer that a buyer signs: a price without a currency. */
export type MarketOffer = {
  readonly tokenId: bigint;
  readonly offerPrice: bigint;
  /** The last second at which the offer is valid, Unix time. */
  readonly expireTime: bigint;
  readonly nonce: Hex;
  /** Whether the token must come with its sealed keys. */
  readonly needProof: boolean;
};

/** The market, its version and its chain: a signature is valid nowhere else. */
export type MarketPlace = { readonly chainId: number; readonly market: Hex; readonly version: string };

/** The supported version of the contract's structs. */
export const KNOWN_VERSION = "1.0.0";

/**
 * Typed data as `eth_signTypedData_v4` takes it, in plain JSON: integers are decimal strings.
 */
export type TypedData = {
  readonly domain: TypedDataDomain;
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, string | boolean>>;
};

const DOMAIN_TYPE = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
] as const;
/** Chain and contract are part of the domain and again of both structs, as the contract hashes them. */
const PLACE_FIELDS = [
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
] as const;
const ORDER_TYPE = [
  { name: "tokenId", type: "uint256" },
  { name: "expectedPrice", type: "uint256" },
  { name: "currency", type: "address" },
  { name: "expireTime", type: "uint256" },
  { name: "nonce", type: "bytes32" },
  { name: "receiver", type: "address" },
  ...PLACE_FIELDS,
] as const;
/** `offeredPrice` is the call's `offerPrice`, and the field order differs from the call, too. */
const OFFER_TYPE = [
  { name: "tokenId", type: "uint256" },
  { name: "offeredPrice", type: "uint256" },
  { name: "expireTime", type: "uint256" },
  { name: "needProof", type: "bool" },
  { name: "nonce", type: "bytes32" },
  ...PLACE_FIELDS,
] as const;

/** An order as AgentMarket hashes it (facts: router-and-chain 3.1). */
export function orderTypedData(place: MarketPlace, order: MarketOrder): TypedData {
  return {
    domain: domainOf(place),
    types: { EIP712Domain: DOMAIN_TYPE, Order: ORDER_TYPE },
    primaryType: "Order",
    message: {
      tokenId: order.tokenId.toString(),
      expectedPrice: order.expectedPrice.toString(),
      currency: order.currency ?? zeroAddress,
      expireTime: order.expireTime.toString(),
      nonce: order.nonce,
      receiver: order.receiver ?? zeroAddress,
      ...placeOf(place),
    },
  };
}

/** An offer as AgentMarket hashes it (facts: router-and-chain 3.1). */
export function offerTypedData(place: MarketPlace, offer: MarketOffer): TypedData {
  return {
    domain: domainOf(place),
    types: { EIP712Domain: DOMAIN_TYPE, Offer: OFFER_TYPE },
    primaryType: "Offer",
    message: {
      tokenId: offer.tokenId.toString(),
      offeredPrice: offer.offerPrice.toString(),
      expireTime: offer.expireTime.toString(),
      needProof: offer.needProof,
      nonce: offer.nonce,
      ...placeOf(place),
    },
  };
}

/** The hash to sign: 32 bytes. */
export function typedDataHash({ domain, types, primaryType, message }: TypedData): Hex {
  return hashTypedData({ domain, types, primaryType, message });
}

function domainOf({ chainId, market, version }: MarketPlace): TypedDataDomain {
  return { name: "AgentMarket", version, chainId, verifyingContract: market };
}

function placeOf({ chainId, market }: MarketPlace): Readonly<Record<string, string>> {
  return { chainId: chainId.toString(), verifyingContract: market };
}
