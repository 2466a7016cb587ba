import { formatToken } from "../../kernel/text/amount.ts";
import { KNOWN_VERSION, type MarketOffer, type MarketOrder } from "./typed-data.ts";

const DAY_SECONDS = 86_400n;
const LONG_DAYS = 30n;

/** What a seller ought to know before signing an order; `nowSeconds` is the chain's time. */
export function orderWarnings(order: MarketOrder, nowSeconds: bigint): readonly string[] {
  return [
    "An order cannot be cancelled: it is good until it expires or is fulfilled, and good again should the token leave you and come back.",
    "Nonces are everybody's: who sees this order can void it with an order of their own under the same nonce.",
    ...(order.receiver === null ? ["Anybody may buy."] : []),
    ...(order.expectedPrice === 0n ? ["The price is nothing."] : []),
    ...(order.currency === null
      ? []
      : [`The price is in units of the contract at ${order.currency}, whatever that is.`]),
    ...longLife(order.expireTime, nowSeconds),
  ];
}

/** What a buyer ought to know before signing an offer; `nowSeconds` is the chain's time. */
export function offerWarnings(offer: MarketOffer, nowSeconds: bigint): readonly string[] {
  return [
    `An offer binds no currency: whoever owns the token may take ${offer.offerPrice} units of whatever their order names, out of your balance in the market (${formatToken(offer.offerPrice)} of the network's token) or of any ERC-20 that you let the market spend.`,
    "An offer cannot be cancelled: it is good until it expires or is used. To void it before, take your balance out of the market and end its allowances.",
    "Nonces are everybody's: who sees this offer can void it with an offer of their own under the same nonce.",
    ...(offer.needProof
      ? []
      : ["The token may come without its sealed keys: you could not decrypt its data. Sign with needProof."]),
    ...longLife(offer.expireTime, nowSeconds),
  ];
}

/** What whoever signs for another version of the market than the one that is known here ought to know. */
export function versionWarnings(version: string): readonly string[] {
  return version === KNOWN_VERSION
    ? []
    : [
        `The market is of version ${version}, and what is signed is of ${KNOWN_VERSION}: it may be read otherwise.`,
      ];
}

function longLife(expireTime: bigint, nowSeconds: bigint): readonly string[] {
  const days = (expireTime - nowSeconds) / DAY_SECONDS;
  return days > LONG_DAYS ? [`It stays good for ${days} days.`] : [];
}
