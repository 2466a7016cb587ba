import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { ReplayKey } from "../../src/idempotency/replay-key.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { type Principal, SCOPES } from "../../src/keys/auth/principal.ts";

/** The header, and the connection parameter, in which a gateway sends the principal to a subgraph. */
export const PRINCIPAL_HEADER = "x-zerograph-principal";

/** The header in which a gateway forwards the key of a caller's stored answers, wrapped by `sealReplayKey`. */
export const REPLAY_KEY_HEADER = "x-zerograph-replay-key";

const LIFETIME_MS = 30_000;
const account = z.string().regex(/^0x[0-9a-f]{40}$/);

const Sealed = z.object({
  expiresAt: z.number(),
  principal: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("anonymous") }),
    z.object({ kind: z.literal("api-key"), account, keyId: z.string() }),
    z.object({
      kind: z.literal("management-key"),
      account,
      keyId: z.string(),
      scopes: z.array(z.enum(SCOPES)),
    }),
    z.object({ kind: z.literal("wallet-session"), account, sessionId: z.string() }),
  ]),
});

/** Signs a principal for transport between our processes: base64url of JSON, `.`, and its HMAC-SHA256. */
export function sealPrincipal(principal: Principal, secret: string, nowMs = Date.now()): string {
  const text = Buffer.from(JSON.stringify({ principal, expiresAt: nowMs + LIFETIME_MS })).toString(
    "base64url",
  );
  return `${text}.${sign(text, secret).toString("base64url")}`;
}

/**
 * Opens a token that `sealPrincipal` made with one of these secrets in the last 30 s, and returns which one. Throws
 * `invalid_api_key` with the reason as its cause otherwise.
 */
export function openPrincipal(
  token: unknown,
  secrets: readonly string[],
  nowMs = Date.now(),
): { readonly principal: Principal; readonly secret: string } {
  const [text = "", signature = ""] = typeof token === "string" ? token.split(".") : [];
  const given = Buffer.from(signature, "base64url");
  const secret = secrets.find((known) => isSignature(given, sign(text, known)));
  if (secret === undefined)
    throw refused("the token was not signed with the INTERNAL_SECRET of this process");
  const sealed = Sealed.safeParse(JSON.parse(Buffer.from(text, "base64url").toString("utf8")));
  if (!sealed.success) throw refused("the token is of another version");
  if (sealed.data.expiresAt < nowMs) throw refused("the token has expired");
  return { principal: sealed.data.principal, secret };
}

/** Wraps a replay key for transport between our processes: it is valid only together with this principal's token. */
export function sealReplayKey(key: ReplayKey, { token, secret }: Sending): string {
  return key.wrap({ secret, binding: token });
}

/** Opens what `sealReplayKey` made for the same token; undefined if none was sent. Throws `invalid_api_key`. */
export function openReplayKey(
  wrapped: unknown,
  { token, secret }: { readonly token: unknown; readonly secret: string },
): ReplayKey | undefined {
  if (wrapped === undefined) return undefined;
  try {
    return ReplayKey.unwrap(String(wrapped), { secret, binding: String(token) });
  } catch (cause) {
    throw refused(cause);
  }
}

/** The principal's token to send, and the secret that our processes share. */
type Sending = { readonly token: string; readonly secret: string };

function sign(text: string, secret: string): Buffer {
  return createHmac("sha256", secret).update(text).digest();
}

function isSignature(given: Buffer, wanted: Buffer): boolean {
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function refused(cause: unknown): AppError {
  return new AppError("invalid_api_key", "This process only answers its gateways.", { cause });
}
