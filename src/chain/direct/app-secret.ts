import { type Hex, isAddressEqual, keccak256, type LocalAccount, recoverMessageAddress, toBytes } from "viem";
import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { isAddress } from "../../kernel/text/hex.ts";

/** The token id of secrets that expire within 24 hours, or with their generation; 0-254 are revocable individually. */
export const EPHEMERAL_TOKEN_ID = 255;

const MAX_EPHEMERAL_MS = 24 * 60 * 60 * 1_000;
const PREFIX = "app-sk-";
const SIGNATURE = /^0x[0-9a-fA-F]{130}$/;

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
    { message: "an ephemeral secret must expire within 24 hours", path: ["expiresAt"] },
  );

/**
 * The claims of a direct-path secret: `address` pays `provider`. Times are milliseconds since 1970; an `expiresAt` of
 * 0 means never (persistent secrets only). `generation` is that of the sub-account on chain.
 */
export type AppSecretClaims = Readonly<z.infer<typeof claimsSchema>>;

/** A parsed secret: its claims, and the signature over `digest`, which is not verified yet. */
export type AppSecret = AppSecretClaims & { readonly digest: Hex; readonly signature: Hex };

/**
 * Signs the bearer credential for one provider of the direct path (SPEC section 6, facts: router-and-chain 2.1):
 * `app-sk-` and base64 of the claims as JSON, `|`, and a personal_sign over the 32 bytes of the JSON's keccak256.
 *
 * Throws `invalid_parameter` for claims that every provider would reject.
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

/** The input of a secret's signature: the claims as text, and the 32 bytes to sign with `personal_sign`. */
export type AppSecretText = { readonly text: string; readonly digest: Hex };

/** The text of a secret, for an external wallet. Throws `invalid_parameter` for claims that providers reject. */
export function appSecretText(claims: AppSecretClaims): AppSecretText {
  const read = claimsSchema.safeParse(claims);
  if (!read.success) throw invalidClaims(read.error);
  const text = canonicalJson(read.data);
  return { text, digest: digestOf(text) };
}

/**
 * Assembles a secret from its text and the wallet's signature. Throws `invalid_parameter` unless the text is, byte for
 * byte, a result of `appSecretText` and its signer is its `address`.
 */
export async function assembleAppSecret(text: string, signature: Hex): Promise<string> {
  const secret = assembled(text, signature);
  const parsed = parseAssembled(secret, SIGNATURE.test(signature) ? "text" : "signature");
  const signer = await recoverAppSecretSigner(parsed).catch(() => undefined);
  if (signer !== undefined && isAddressEqual(signer, parsed.address)) return secret;
  throw new AppError(
    "invalid_parameter",
    `The signature is not a signature of this text by ${parsed.address}.`,
    {
      param: "signature",
    },
  );
}

/** Throws `invalid_parameter` naming `param`, the part that is at fault if the secret is not one. */
function parseAssembled(secret: string, param: string): AppSecret {
  try {
    return parseAppSecret(secret);
  } catch (cause) {
    const what =
      param === "text"
        ? "The text is not one of `appSecretText`."
        : "A signature is 0x and 130 hexadecimal digits.";
    throw new AppError("invalid_parameter", what, { param, cause });
  }
}

/** Parses a secret strictly: any encoding other than that of `createAppSecret` throws `invalid_parameter`. */
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

/** The signer of the secret, which is genuine if this is its `address`. Throws what viem throws for a bad signature. */
export function recoverAppSecretSigner({ digest, signature }: AppSecret): Promise<Hex> {
  return recoverMessageAddress({ message: { raw: digest }, signature });
}

function assembled(text: string, signature: Hex): string {
  return PREFIX + Buffer.from(`${text}|${signature}`).toString("base64");
}

/** The key order is part of the format: the signature covers these exact bytes. */
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

function invalidClaims(error: z.ZodError): AppError {
  const [issue] = error.issues;
  const param = issue?.path.join(".") || "claims";
  return new AppError("invalid_parameter", `${param}: ${issue?.message ?? "malformed"}`, {
    param,
    cause: error,
  });
}
