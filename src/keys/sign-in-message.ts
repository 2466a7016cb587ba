import { ParsedMessage } from "@spruceid/siwe-parser";
import { AppError } from "../kernel/errors.ts";
import { type Hex, isAddress } from "../kernel/hex.ts";

/** What a sign-in message must be made for: the sites that may ask for it, and the chain (EIP-4361). */
export type SignInPlaces = {
  /** The hosts, with their ports, on whose pages a wallet may be asked to sign. */
  readonly domains: ReadonlySet<string>;
  /** The origins that `URI` may point into. */
  readonly origins: ReadonlySet<string>;
  readonly chainId: number;
};

/** What a good message says: the wallet, spelled as it was signed, and the nonce that it uses up. */
export type SignInMessage = { readonly address: Hex; readonly nonce: string };

const MAX_LENGTH = 4_096;
const SKEW_MS = 60_000;

/**
 * Reads a Sign-In with Ethereum message as strictly as EIP-4361 has it. Throws `sign_in_refused` for one that is
 * malformed, for another site, origin or chain, not yet or no longer valid, or dated more than 60 s ahead. Whether
 * its nonce is ours and who signed it is not looked at here.
 */
export function readSignInMessage(text: string, places: SignInPlaces, now: Date): SignInMessage {
  const message = parse(text);
  const { address, domain, scheme, nonce } = message;
  const origin = URL.canParse(message.uri) ? new URL(message.uri).origin : undefined;
  const rules: readonly (readonly [boolean, string])[] = [
    [message.version === "1", "Its version must be 1."],
    [message.chainId === places.chainId, `Its chain id must be ${places.chainId}.`],
    [places.domains.has(domain), "It is made for a domain that does not belong here."],
    [
      scheme === undefined || places.origins.has(`${scheme}://${domain}`),
      "It is made for a scheme that does not belong here.",
    ],
    [origin !== undefined && places.origins.has(origin), "Its URI does not belong here."],
    [timeOf(message.issuedAt) <= now.getTime() + SKEW_MS, "It is issued in the future."],
    [isAbsent(message.notBefore) || timeOf(message.notBefore) <= now.getTime(), "It is not valid yet."],
    [isAbsent(message.expirationTime) || timeOf(message.expirationTime) > now.getTime(), "It has expired."],
  ];
  for (const [holds, reason] of rules) if (!holds) throw refuseSignIn(reason);
  if (!isAddress(address)) throw refuseSignIn("It names no wallet.");
  return { address, nonce };
}

/** The one failure of a sign-in: 401 `sign_in_refused`, whatever the reason. */
export function refuseSignIn(reason: string, param: "message" | "signature" = "message"): AppError {
  return new AppError("sign_in_refused", `This sign-in is refused. ${reason}`, { param });
}

function parse(text: string): ParsedMessage {
  if (text.length > MAX_LENGTH) throw refuseSignIn(`It has more than ${MAX_LENGTH} characters.`);
  try {
    return new ParsedMessage(text);
  } catch (cause) {
    throw new AppError(
      "sign_in_refused",
      "This sign-in is refused. It is not a message as EIP-4361 defines it, with an address as EIP-55 spells it.",
      { param: "message", cause },
    );
  }
}

function isAbsent(time: string | undefined): time is undefined {
  return time === undefined;
}

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)t([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

/** Milliseconds since 1970 of a date as RFC 3339 spells it. Throws for a day that no calendar has. */
function timeOf(text: string): number {
  const [, year, month, day] = DATE_TIME.exec(text) ?? [];
  const time = Date.parse(text.toUpperCase());
  const midnight = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  // Date rolls an impossible day over into the next month.
  if (Number.isNaN(time) || midnight.getUTCMonth() !== Number(month) - 1)
    throw refuseSignIn("It has a date that does not exist.");
  return time;
}
