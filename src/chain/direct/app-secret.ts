import { type Hex, isAddressEqual, keccak256, type LocalAccount, recoverMessageAddress, toBytes } from "viem";
import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { isAddress } from "../../kernel/text/hex.ts";

/** The token id of a secret that dies within 24 hours, or with its generation; 0-254 can be revoked one by one. */
export const EPHEMERAL_TOKEN_ID = 255;

const MAX_EPHEMERAL_MS = 24 * 60 * 60 * 1_000;
const PREFIX = "app-sk-";

const address = z.custom<Hex>((value) => typeof value === "string" && isAddress(value));
const count = z.int().min(0);
const claimsSchema = z
  .strictObject({
    address,
    provider: address,
    timestamp: count,
    expiresAt: count,
    nonce: z.string().min(1),
    generation: count,
    tokenId: count.max(EPHEMERAL_TOKEN_ID),
  })
  .refine(
    ({ tokenId, timestamp, expiresAt }) =>
      tokenId !== EPHEMERAL_TOKEN_ID || (expiresAt > timestamp && expiresAt - timestamp <= MAX_EPHEMERAL_MS),
    "an ephemeral secret expires within 24 hours",
  );

/**
 * What a direct-path secret says: `address` pays `provider`. Times are milliseconds since 1970, and an `expiresAt` of 0
 * is never (persistent secrets only). `generation` is that of the sub-account on chain.
 */
export type AppSecretClaims = Readonly<z.infer<typeof claimsSchema>>;

/** A secret taken apart: what it says, and the signature over `digest`, which is not verified yet. */
export type AppSecret = AppSecretClaims & { readonly digest: Hex; readonly signature: Hex };

/**
 * Signs the bearer credential for one provider of the direct path (SPEC section 6, facts: router-and-chain 2.1):
 * `app-sk-` and base64 of the claims as JSON, `|`, and a personal_sign over the 32 bytes of the JSON's keccak256.
 *
 * Throws `invalid_parameter` for claims that no provider would take.
 *
 * @example
 * await createAppSecret({ account, provider, generation: 0, timestamp: now, expiresAt: now + 3_600_000, nonce: newId() })
 */
export async function createAppSecret(input: {
  readonly account: LocalAccount;
  readonly provider: Hex;
  readonly generation: number;
  readonly tokenId?: number;
  readonly expiresAt: number;
  readonly timestamp: number;
  readonly nonce: string;
}): Promise<string> {
  const { account, provider, generation, tokenId = EPHEMERAL_TOKEN_ID, expiresAt, timestamp, nonce } = input;
  const { address } = account;
  const claims = { address, provider, timestamp, expiresAt, nonce, generation, tokenId };
  const { text, digest } = appSecretText(claims);
  return assembled(text, await account.signMessage({ message: { raw: digest } }));
}

/** What a wallet signs for a secret: the claims as text, and the 32 bytes over which `personal_sign` goes. */
export type AppSecretText = { readonly text: string; readonly digest: Hex };

/** The text of a secret, for a wallet that signs elsewhere. Throws `invalid_parameter` for claims that no provider would take. */
export function appSecretText(claims: AppSecretClaims): AppSecretText {
  const read = claimsSchema.safeParse(claims);
  if (!read.success) throw invalid(read.error);
  const text = canonicalJson(read.data);
  return { text, digest: digestOf(text) };
}

/**
 * The secret out of its text and the wallet's signature. Throws `invalid_parameter` when the text is not one of
 * `appSecretText`, to the byte, or when its signer is not its `address`.
 */
export async function assembleAppSecret(text: string, signature: Hex): Promise<string> {
  const secret = assembled(text, signature);
  const parsed = parseAppSecret(secret);
  const signer = await recoverAppSecretSigner(parsed).catch(() => undefined);
  if (signer !== undefined && isAddressEqual(signer, parsed.address)) return secret;
  throw new AppError("invalid_parameter", `The signature is not of ${parsed.address} over this text.`, {
    param: "signature",
  });
}

/** Takes a secret apart, strictly: any other spelling than that of `createAppSecret` throws `invalid_parameter`. */
export function parseAppSecret(secret: string): AppSecret {
  const text = Buffer.from(secret.slice(PREFIX.length), "base64").toString("utf8");
  const parts = /^(?<json>\{.*\})\|(?<signature>0x[0-9a-fA-F]{130})$/.exec(text)?.groups;
  if (!parts?.json || !parts.signature) throw invalid();
  const claims = claimsSchema.safeParse(parseJson(parts.json));
  if (!claims.success) throw invalid(claims.error);
  const canonical = canonicalJson(claims.data);
  const signature = parts.signature as Hex;
  if (assembled(canonical, signature) !== secret) throw invalid();
  return { ...claims.data, digest: digestOf(canonical), signature };
}

/** Who signed the secret; it is genuine when that is its `address`. Throws what viem throws for an impossible signature. */
export function recoverAppSecretSigner({ digest, signature }: AppSecret): Promise<Hex> {
  return recoverMessageAddress({ message: { raw: digest }, signature });
}

function assembled(text: string, signature: Hex): string {
  return PREFIX + Buffer.from(`${text}|${signature}`).toString("base64");
}

/** The key order is part of the format: the signature covers these very bytes. */
function canonicalJson(claims: AppSecretClaims): string {
  const { address, provider, timestamp, expiresAt, nonce, generation, tokenId } = claims;
  return JSON.stringify({ address, provider, timestamp, expiresAt, nonce, generation, tokenId });
}

function digestOf(json: string): Hex {
  return keccak256(toBytes(json));
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function invalid(cause?: unknown): AppError {
  return new AppError("invalid_parameter", "This is not a direct-path secret (app-sk-...).", { cause });
}
