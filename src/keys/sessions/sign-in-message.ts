import { ParsedMessage } from "@spruceid/siwe-parser";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, isAddress } from "../../kernel/text/hex.ts";

/** What a sign-in message must be for: the origins that may request it, and the chain (EIP-4361). */
export type SignInOrigins = {
  /** Whether a page of this URL's origin may let a wallet sign in. */
  hasOrigin(url: URL): boolean;
  readonly chainId: number;
};

/** The contents of a valid message: the wallet, spelled as it was signed, and the nonce that it consumes. */
export type SignInMessage = { readonly address: Hex; readonly nonce: string };

const MAX_LENGTH = 4_096;
const SKEW_MS = 60_000;

/**
 * Parses a Sign-In with Ethereum message strictly by EIP-4361. Throws `sign_in_refused` for one that is malformed, for
 * another origin or chain, not yet or no longer valid, or dated more than 60 s ahead. The nonce and the signature are
 * not checked here.
 */
export function readSignInMessage(text: string, places: SignInOrigins, now: Date): SignInMessage {
  const { address, nonce, ...message } = parse(text);
  const nowMs = now.getTime();
  const times = {
    issuedMs: timeOf(message.issuedAt),
    notBeforeMs: message.notBefore === undefined ? -Infinity : timeOf(message.notBefore),
    expiresMs: message.expirationTime === undefined ? Infinity : timeOf(message.expirationTime),
  };
  const rules: readonly (readonly [boolean, string])[] = [
    [message.chainId === places.chainId, `Its chain id must be ${places.chainId}.`],
    [isOwnDomain(message, places), "It is for a domain that is not allowed to sign in here."],
    [isOwnUri(message.uri, places), "Its URI is not of an allowed origin."],
    [times.issuedMs <= nowMs + SKEW_MS, "It is issued in the future."],
    [times.notBeforeMs <= nowMs, "It is not valid yet."],
    [times.expiresMs > nowMs, "It has expired."],
    [isAddress(address), "It names no wallet."],
  ];
  for (const [holds, reason] of rules) if (!holds) throw refuseSignIn(reason);
  return { address: address as Hex, nonce };
}

/** The only failure of a sign-in: 401 `sign_in_refused`, whatever the reason. */
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

/** The domain must be a bare host with its port, spelled as browsers do; without a scheme it may be http or https. */
function isOwnDomain(
  { domain, scheme }: Pick<ParsedMessage, "domain" | "scheme">,
  places: SignInOrigins,
): boolean {
  const schemes = scheme === undefined ? ["https", "http"] : [scheme];
  return schemes.some((name) => {
    const text = `${name}://${domain}`;
    return URL.canParse(text) && new URL(text).host === domain && places.hasOrigin(new URL(text));
  });
}

function isOwnUri(uri: string, places: SignInOrigins): boolean {
  if (!URL.canParse(uri)) return false;
  const url = new URL(uri);
  return url.username === "" && url.password === "" && places.hasOrigin(url);
}

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)t([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

/** The Unix time in milliseconds of an RFC 3339 date. Throws for a day that does not exist. */
function timeOf(text: string): number {
  const [, year, month, day] = DATE_TIME.exec(text) ?? [];
  const time = Date.parse(text.toUpperCase());
  const midnight = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  // Date rolls an impossible day over into the next month.
  if (Number.isNaN(time) || midnight.getUTCMonth() !== Number(month) - 1)
    throw refuseSignIn("It has a date that does not exist.");
  return time;
}
