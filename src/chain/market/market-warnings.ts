import { formatToken } from "../../kernel/text/amount.ts";
import { KNOWN_VERSION, type MarketOffer, type MarketOrder } from "./typed-data.ts";

const DAY_SECONDS = 86_400n;
const LONG_DAYS = 30n;

/** Warnings for a seller who signs an order; `nowSeconds` is the chain's time. */
export function orderWarnings(order: MarketOrder, nowSeconds: bigint): readonly string[] {
  return [
    "An order cannot be cancelled: it is valid until it expires or is fulfilled, and valid again if the token leaves you and comes back.",
    "Nonces are shared by all accounts: anyone who sees this order can void it with an order of their own under the same nonce.",
    ...(order.receiver === null ? ["Anyone may buy."] : []),
    ...(order.expectedPrice === 0n ? ["The price is 0."] : []),
    ...(order.currency === null
      ? []
      : [`The price is in units of the contract at ${order.currency}, which is not verified.`]),
    ...longLifetime(order.expireTime, nowSeconds),
  ];
}

/** Warnings for a buyer who signs an offer; `nowSeconds` is the chain's time. */
export function offerWarnings(offer: MarketOffer, nowSeconds: bigint): readonly string[] {
  return [
    `An offer binds no currency: the token's owner may take ${offer.offerPrice} units of any currency that their order names, from your balance in the market (${formatToken(offer.offerPrice)} of the network's token) or from any ERC-20 that the market may spend for you.`,
    "An offer cannot be cancelled: it is valid until it expires or is used. To void it earlier, withdraw your balance from the market and revoke its allowances.",
    "Nonces are shared by all accounts: anyone who sees this offer can void it with an offer of their own under the same nonce.",
    ...(offer.needProof
      ? []
      : [
          "The token may come without its sealed keys, so you could not decrypt its data. Sign with needProof.",
        ]),
    ...longLifetime(offer.expireTime, nowSeconds),
  ];
}

/** A warning for signing with a market whose version is not the supported one. */
export function versionWarnings(version: string): readonly string[] {
  return version === KNOWN_VERSION
    ? []
    : [
        `The market has version ${version}, but the signed data follows ${KNOWN_VERSION}: the market may read it differently.`,
      ];
}

function longLifetime(expireTime: bigint, nowSeconds: bigint): readonly string[] {
  const days = (expireTime - nowSeconds) / DAY_SECONDS;
  return days > LONG_DAYS ? [`It stays valid for ${days} days.`] : [];
}
