import { randomBytes } from "node:crypto";
import { toHex } from "viem";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, isHash32, lowerHex } from "../../kernel/text/hex.ts";
import { strictSignerOf } from "../strict-signature.ts";
import type { MarketClient } from "./market.client.ts";
import type { MarketService } from "./market.service.ts";
import { type Deal, explainMarketRefusal } from "./market-refusals.ts";
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

/** An order to be signed. The nonce is random by default. */
export type NewOrder = Omit<MarketOrder, "nonce"> & { readonly nonce?: Hex | undefined };
/** An offer to be signed. The nonce is random by default. */
export type NewOffer = Omit<MarketOffer, "nonce"> & { readonly nonce?: Hex | undefined };

/** The argument that a fault is in. */
type Kind = "order" | "offer";

/** The typed data for a wallet to sign, its hash, and warnings for the signer. */
export type Signable = {
  readonly typedData: TypedData;
  readonly hash: Hex;
  readonly nonce: Hex;
  readonly warnings: readonly string[];
};

/** A reason why the market would reject an order or offer: the contract's error, and an explanation. */
type Problem = { readonly refusal: string; readonly text: string };

/** The signer of an order or offer, and the reasons why the market would reject it now. */
export type SignatureCheck = {
  readonly hash: Hex;
  /** Undefined for an invalid signature. If a field was changed after signing, recovery yields an unrelated address. */
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
 * Prepares orders and offers for wallets to sign, and checks signed ones. Nothing is stored: neither the market nor
 * this service keeps a list of orders. Throws what `MarketClient` throws.
 */
export class MarketOrdersService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** An order for its seller to sign. Throws `invalid_parameter` if it has already expired. */
  async order(requested: NewOrder): Promise<Signable> {
    const [place, now] = await Promise.all([this.place(), this.#dependencies.client.nowSeconds()]);
    const order = toOrder({ ...requested, nonce: requested.nonce ?? newNonce() });
    requireFuture("order", order, now);
    const warnings = [...versionWarnings(place.version), ...orderWarnings(order, now)];
    return toSignable(orderTypedData(place, order), order.nonce, warnings);
  }

  /** An offer for its buyer to sign. Throws `invalid_parameter` if it has already expired. */
  async offer(requested: NewOffer): Promise<Signable> {
    const [place, now] = await Promise.all([this.place(), this.#dependencies.client.nowSeconds()]);
    const offer = toOffer({ ...requested, nonce: requested.nonce ?? newNonce() });
    requireFuture("offer", offer, now);
    const warnings = [...versionWarnings(place.version), ...offerWarnings(offer, now)];
    return toSignable(offerTypedData(place, offer), offer.nonce, warnings);
  }

  /** Whether the market would accept a signed order now, according to a simulated call of the market. */
  async checkOrder(signed: MarketOrder, signature: Hex): Promise<SignatureCheck> {
    const order = toOrder(signed);
    const { client, market } = this.#dependencies;
    const [place, token] = await Promise.all([this.place(), market.token()]);
    const hash = typedDataHash(orderTypedData(place, order));
    const [signer, refusal, owner, nowSeconds] = await Promise.all([
      strictSignerOf(hash, signature),
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
      problems: refusals.map((refusal) => toProblem(refusal, deal)),
      warnings: orderWarnings(order, nowSeconds),
    };
  }

  /**
   * Whether the market would accept a signed offer now, as far as can be checked without an order: only a match shows
   * whether its nonce is used. With `payableIn`, also whether the buyer can pay in it; null is the network's token.
   */
  async checkOffer(signed: MarketOffer, signature: Hex, payableIn?: Hex | null): Promise<SignatureCheck> {
    const offer = toOffer(signed);
    const { client } = this.#dependencies;
    const place = await this.place();
    const hash = typedDataHash(offerTypedData(place, offer));
    const [signer, nowSeconds] = await Promise.all([strictSignerOf(hash, signature), client.nowSeconds()]);
    const order = { ...offer, expectedPrice: offer.offerPrice, currency: payableIn ?? null, receiver: null };
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
      ...(signer === undefined || payableIn === undefined
        ? []
        : await this.#fundsRefusals(signer, offer.offerPrice, payableIn)),
    ];
    return {
      hash,
      signer,
      problems: refusals.map((refusal) => toProblem(refusal, deal)),
      warnings: [
        ...offerWarnings(offer, nowSeconds),
        "The market does not reveal whether the offer's nonce is used: only a match with an order shows it.",
      ],
    };
  }

  /** The domain in which signatures are valid, with the version that the contract reports. */
  async place(): Promise<MarketPlace> {
    const { address, version } = await this.#dependencies.market.state();
    return { chainId: this.#dependencies.chainId, market: address, version };
  }

  /** The contract errors for a buyer whose funds do not cover the price. */
  async #fundsRefusals(buyer: Hex, price: bigint, currency: Hex | null): Promise<readonly string[]> {
    const { client, market } = this.#dependencies;
    if (currency === null) return (await market.balanceOf(buyer)) < price ? ["Insufficient balance"] : [];
    const { balance, allowance } = await client.fundsOf(buyer, currency).catch((cause: unknown) => {
      throw notErc20(currency, cause);
    });
    return [
      ...(balance < price ? [`ERC20InsufficientBalance(${buyer}, ${balance}, ${price})`] : []),
      ...(allowance < price
        ? [`ERC20InsufficientAllowance(${client.contract().address}, ${allowance}, ${price})`]
        : []),
    ];
  }
}

/** An order with hex strings in lower case. Throws `invalid_parameter` for a nonce that is not 32 bytes. */
export function toOrder(order: MarketOrder): MarketOrder {
  return {
    tokenId: order.tokenId,
    expectedPrice: order.expectedPrice,
    currency: order.currency && lowerHex(order.currency),
    expireTime: order.expireTime,
    nonce: toNonce("order", order),
    receiver: order.receiver && lowerHex(order.receiver),
  };
}

/** An offer with hex strings in lower case. Throws `invalid_parameter` for a nonce that is not 32 bytes. */
export function toOffer(offer: MarketOffer): MarketOffer {
  return {
    tokenId: offer.tokenId,
    offerPrice: offer.offerPrice,
    expireTime: offer.expireTime,
    nonce: toNonce("offer", offer),
    needProof: offer.needProof,
  };
}

function toNonce(kind: Kind, { nonce }: { readonly nonce: Hex }): Hex {
  if (isHash32(nonce)) return lowerHex(nonce);
  throw new AppError("invalid_parameter", "A nonce must be 32 bytes.", { param: `${kind}.nonce` });
}

function newNonce(): Hex {
  return toHex(randomBytes(NONCE_BYTES));
}

function requireFuture(
  kind: Kind,
  { expireTime }: { readonly expireTime: bigint },
  nowSeconds: bigint,
): void {
  if (expireTime > nowSeconds) return;
  throw new AppError(
    "invalid_parameter",
    `The expiry must be in the future: the chain's time is ${nowSeconds}.`,
    { param: `${kind}.expireTime` },
  );
}

function notErc20(currency: Hex, cause: unknown): unknown {
  const isKnown = cause instanceof AppError && cause.code !== "chain_error";
  return isKnown
    ? new AppError(cause.code, `The contract at ${currency} is not an ERC-20.`, { cause, param: "payableIn" })
    : cause;
}

function toSignable(typedData: TypedData, nonce: Hex, warnings: readonly string[]): Signable {
  return { typedData, hash: typedDataHash(typedData), nonce, warnings };
}

function toProblem(refusal: string, deal: Deal): Problem {
  return { refusal, text: explainMarketRefusal(refusal, deal)?.text ?? "the market would reject it" };
}
