import type { Hex } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";

/** The fields of a sign-in message as EIP-4361 names them; undefined omits a line, even a required one. */
export type SignInFields = {
  readonly scheme?: string | undefined;
  readonly domain?: string;
  readonly address?: string;
  readonly statement?: string | undefined;
  readonly uri?: string | undefined;
  readonly version?: string | undefined;
  readonly chainId?: string | number | undefined;
  readonly nonce?: string | undefined;
  readonly issuedAt?: string | undefined;
  readonly expirationTime?: string | undefined;
  readonly notBefore?: string | undefined;
  readonly requestId?: string | undefined;
  readonly resources?: readonly string[] | undefined;
};

/** Writes a message as wallets show it, with exactly the given faults. */
export function signInText(fields: SignInFields): string {
  const { scheme, domain = "", address = "", statement, resources } = fields;
  const line = (title: string, value: string | number | undefined) =>
    value === undefined ? [] : [`${title}: ${value}`];
  return [
    `${scheme === undefined ? "" : `${scheme}://`}${domain} wants you to sign in with your Ethereum account:`,
    address,
    "",
    ...(statement === undefined ? [""] : [statement, ""]),
    ...line("URI", fields.uri),
    ...line("Version", fields.version),
    ...line("Chain ID", fields.chainId),
    ...line("Nonce", fields.nonce),
    ...line("Issued At", fields.issuedAt),
    ...line("Expiration Time", fields.expirationTime),
    ...line("Not Before", fields.notBefore),
    ...line("Request ID", fields.requestId),
    ...(resources === undefined ? [] : ["Resources:", ...resources.map((uri) => `- ${uri}`)]),
  ].join("\n");
}

/** A message for a development network on this machine, valid now. */
export function localSignIn(address: string, nonce: string, more: SignInFields = {}): string {
  return signInText({
    domain: "localhost:5173",
    address,
    statement: "Sign in to look after your keys.",
    uri: "http://localhost:5173/settings",
    version: "1",
    chainId: 16_602,
    nonce,
    issuedAt: new Date().toISOString(),
    ...more,
  });
}

/** Signs in over REST with a wallet whose key is given. */
export async function signInAs(
  origin: string,
  wallet: PrivateKeyAccount,
): Promise<{ token: string; account: Hex }> {
  const { nonce } = (await (await fetch(`${origin}/v1/auth/nonce`)).json()) as { nonce: string };
  const message = localSignIn(wallet.address, nonce);
  const reply = await fetch(`${origin}/v1/auth/signin`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message, signature: await wallet.signMessage({ message }) }),
  });
  const answer = (await reply.json()) as { token: string; wallet_address: Hex };
  if (reply.status !== 200) throw new Error(JSON.stringify(answer));
  return { token: answer.token, account: answer.wallet_address };
}
