import { randomBytes } from "node:crypto";
import { toHex } from "viem";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, isHash32, lowerHex } from "../../kernel/text/hex.ts";
import type { MarketClient } from "./market.client.ts";
import type { MarketService } from "./market.service.ts";
import { type Deal, explainMarketRefusal } from "./market-refusals.ts";
import { signerOf } from "./market-signature.ts";
import { offerWarnings, orderWarnings, versionWarnings } from "./market-warnings.ts";
import {
  type MarketOffer,
  type MarketOrder,
  type MarketPlace,
  offerTypedData,
  orderTypedData,
  type TypedData,
  typedDataHash,
} from "./typed-data.ts";

/** An order to be signed. Without a nonce it gets a random one. */
export type NewOrder = Omit<MarketOrder, "nonce"> & { readonly nonce?: Hex | undefined };
/** An offer to be signed, likewise. */
export type NewOffer = Omit<MarketOffer, "nonce"> & { readonly nonce?: Hex | undefined };

/** What a wallet is to sign, the hash that it comes to, and what its owner ought to know before. */
export type Signable = {
  readonly typedData: TypedData;
  readonly hash: Hex;
  readonly nonce: Hex;
  readonly warnings: readonly string[];
};

/** What speaks against an order or an offer: what the market would say, and what that means. */
type Problem = { readonly refusal: string; readonly text: string };

/** Who signed, and whether it would be taken now. */
export type SignatureCheck = {
  readonly hash: Hex;
  /** Undefined where the signature is none; where anything was changed after it was signed, it is a stranger. */
  readonly signer: Hex | undefined;
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
};

type Dependencies = {
  readonly client: MarketClient;
  readonly market: MarketService;
  readonly chainId: number;
};

const NONCE_BYTES = 32;

/**
 * Makes orders and offers for wallets to sign, and says of signed ones whether they are good. Nothing is kept: the market
 * has no list of them, and neither have we. Throws what `MarketClient` throws.
 */
export class MarketOrdersService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** An order as its seller signs it. Throws `invalid_parameter` for one that is over already. */
  async order(wanted: NewOrder): Promise<Signable> {
    const [place, now] = await Promise.all([this.place(), this.#dependencies.client.nowSeconds()]);
    const order = toOrder({ ...wanted, nonce: wanted.nonce ?? newNonce() });
    requireFuture(order.expireTime, now);
    const warnings = [...versionWarnings(place.version), ...orderWarnings(order, now)];
    return toSignable(orderTypedData(place, order), order.nonce, warnings);
  }

  /** An offer as its buyer signs it. Throws `invalid_parameter` for one that is over already. */
  async offer(wanted: NewOffer): Promise<Signable> {
    const [place, now] = await Promise.all([this.place(), this.#dependencies.client.nowSeconds()]);
    const offer = toOffer({ ...wanted, nonce: wanted.nonce ?? newNonce() });
    requireFuture(offer.expireTime, now);
    const warnings = [...versionWarnings(place.version), ...offerWarnings(offer, now)];
    return toSignable(offerTypedData(place, offer), offer.nonce, warnings);
  }

  /** Whether the market would take a signed order now; the market itself is asked. */
  async checkOrder(asked: MarketOrder, signature: Hex): Promise<SignatureCheck> {
    const order = toOrder(asked);
    const { client, market } = this.#dependencies;
    const [place, token] = await Promise.all([this.place(), market.token()]);
    const hash = typedDataHash(orderTypedData(place, order));
    const [signer, refusal, owner, nowSeconds] = await Promise.all([
      signerOf(hash, signature),
      client.refusalOfOrder(order, signature),
      client.ownerOf(token, order.tokenId),
      client.nowSeconds(),
    ]);
    const deal = { order, market: place.market, seller: signer, owner, nowSeconds };
    const refusals = refusal === undefined ? [] : [refusal];
    if (signer !== undefined && owner === signer && !(await client.mayMove(token, order.tokenId, owner)))
      refusals.push(`ERC721InsufficientApproval(${deal.market}, ${order.tokenId})`);
    return {
      hash,
      signer,
      problems: refusals.map((said) => toProblem(said, deal)),
      warnings: orderWarnings(order, nowSeconds),
    };
  }

  /**
   * Whether the market would take a signed offer now, as far as can be told without an order: whether its nonce is used,
   * only a match shows. With a currency, also whether the buyer could pay in it; null is the network's token.
   */
  async checkOffer(asked: MarketOffer, signature: Hex, currency?: Hex | null): Promise<SignatureCheck> {
    const offer = toOffer(asked);
    const { client } = this.#dependencies;
    const place = await this.place();
    const hash = typedDataHash(offerTypedData(place, offer));
    const [signer, nowSeconds] = await Promise.all([signerOf(hash, signature), client.nowSeconds()]);
    const order = { ...offer, expectedPrice: offer.offerPrice, currency: currency ?? null, receiver: null };
    const deal = {
      order,
      offer,
      market: place.market,
      seller: undefined,
      buyer: signer,
      owner: undefined,
      nowSeconds,
    };
    const refusals = [
      ...(signer === undefined ? ["ECDSAInvalidSignature()"] : []),
      ...(nowSeconds > offer.expireTime ? ["Offer expired"] : []),
      ...(signer === undefined || currency === undefined
        ? []
        : await this.#lackOf(signer, offer.offerPrice, currency)),
    ];
    return {
      hash,
      signer,
      problems: refusals.map((said) => toProblem(said, deal)),
      warnings: [
        ...offerWarnings(offer, nowSeconds),
        "Whether its nonce is used, the market does not tell: only a match with an order shows it.",
      ],
    };
  }

  /** Where signatures are good: the version is as the contract says it, of which its domain is made. */
  async place(): Promise<MarketPlace> {
    const { address, version } = await this.#dependencies.market.state();
    return { chainId: this.#dependencies.chainId, market: address, version };
  }

  /** What the market would say of a buyer who has not enough. */
  async #lackOf(buyer: Hex, price: bigint, currency: Hex | null): Promise<readonly string[]> {
    const { client, market } = this.#dependencies;
    if (currency === null) return (await market.balanceOf(buyer)) < price ? ["Insufficient balance"] : [];
    const { balance, allowance } = await client.fundsOf(buyer, currency);
    return [
      ...(balance < price ? [`ERC20InsufficientBalance(${buyer}, ${balance}, ${price})`] : []),
      ...(allowance < price
        ? [`ERC20InsufficientAllowance(${client.contract().address}, ${allowance}, ${price})`]
        : []),
    ];
  }
}

/** An order with its hexadecimal in lower case. Throws `invalid_parameter` for a nonce that is not 32 bytes. */
export function toOrder(order: MarketOrder): MarketOrder {
  return {
    tokenId: order.tokenId,
    expectedPrice: order.expectedPrice,
    currency: order.currency && lowerHex(order.currency),
    expireTime: order.expireTime,
    nonce: toNonce(order.nonce),
    receiver: order.receiver && lowerHex(order.receiver),
  };
}

/** An offer, likewise. */
export function toOffer(offer: MarketOffer): MarketOffer {
  return {
    tokenId: offer.tokenId,
    offerPrice: offer.offerPrice,
    expireTime: offer.expireTime,
    nonce: toNonce(offer.nonce),
    needProof: offer.needProof,
  };
}

function toNonce(nonce: Hex): Hex {
  if (isHash32(nonce)) return lowerHex(nonce);
  throw new AppError("invalid_parameter", "A nonce is 32 bytes.", { param: "nonce" });
}

function newNonce(): Hex {
  return toHex(randomBytes(NONCE_BYTES));
}

function requireFuture(expireTime: bigint, nowSeconds: bigint): void {
  if (expireTime > nowSeconds) return;
  throw new AppError("invalid_parameter", `It would be over already: the chain's time is ${nowSeconds}.`, {
    param: "expireTime",
  });
}

function toSignable(typedData: TypedData, nonce: Hex, warnings: readonly string[]): Signable {
  return { typedData, hash: typedDataHash(typedData), nonce, warnings };
}

function toProblem(refusal: string, deal: Deal): Problem {
  return { refusal, text: explainMarketRefusal(refusal, deal)?.text ?? "the market would refuse" };
}
