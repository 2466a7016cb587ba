import { createHash, createHmac } from "node:crypto";
import { readFile, realpath, stat } from "node:fs/promises";

/** The state of a JWT secret file. `secret` is only for `engineToken`; compare files by `fingerprint`. */
export type JwtFile =
  | { readonly state: "unset" }
  | { readonly state: "missing" | "malformed"; readonly detail: string }
  | {
      readonly state: "read";
      /** Equal for two paths to the same file. */
      readonly place: string;
      readonly fingerprint: string;
      readonly secret: Buffer;
      /** Whether users other than the owner may read it. */
      readonly isOpen: boolean;
    };

const MAX_BYTES = 1_024;
const OTHERS_MAY_READ = 0o044;

/** Reads a JWT secret file: 32 bytes as 64 hexadecimal digits, with or without 0x. It never throws. */
export async function readJwtFile(path: string | undefined): Promise<JwtFile> {
  if (path === undefined) return { state: "unset" };
  try {
    const [{ dev, ino, mode, size }, place] = await Promise.all([stat(path), realpath(path)]);
    if (size > MAX_BYTES) return { state: "malformed", detail: "It is longer than a secret." };
    const digits = /^(?:0x)?([0-9a-fA-F]{64})$/.exec((await readFile(path, "utf8")).trim())?.[1];
    if (!digits) return { state: "malformed", detail: "It is not 64 hexadecimal digits." };
    const secret = Buffer.from(digits, "hex");
    return {
      state: "read",
      place: ino === 0 ? place : `${dev}:${ino}`,
      fingerprint: createHash("sha256").update(secret).digest("hex"),
      secret,
      isOpen: (mode & OTHERS_MAY_READ) !== 0,
    };
  } catch (error) {
    return { state: "missing", detail: `It cannot be read (${codeOf(error)}).` };
  }
}

/** The bearer token for one engine API call: HS256 over the time, which may differ by up to 60 s. */
export function engineToken(secret: Buffer, now: Date): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ iat: Math.floor(now.getTime() / 1_000) })}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
