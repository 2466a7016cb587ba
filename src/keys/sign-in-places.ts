import type { SignInPlaces } from "./sign-in-message.ts";

type Given = {
  /** What the operator lists; undefined where nothing is set. */
  readonly domains: readonly string[] | undefined;
  readonly uris: readonly string[] | undefined;
  readonly chainId: number;
  /** Where this process listens, if its own pages may be signed in to without being listed. */
  readonly own: { readonly host: string; readonly port: number } | undefined;
};

/**
 * Where wallets may sign in: what the operator lists. Domains follow from the listed URIs where none are listed. On
 * a development network, where nothing is listed, it is the gateway's own address; elsewhere it is then nowhere.
 */
export function signInPlaces({ domains, uris, chainId, own }: Given): SignInPlaces {
  const hosts = own ? [...new Set([own.host, "localhost", "127.0.0.1"])] : [];
  const origins = (uris ?? hosts.map((host) => `http://${host}:${own?.port}`)).map((uri) => new URL(uri).origin);
  return {
    domains: new Set(domains ?? origins.map((origin) => new URL(origin).host)),
    origins: new Set(origins),
    chainId,
  };
}
