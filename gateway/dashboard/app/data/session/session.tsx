import { createContext, type ReactNode, useContext, useEffect, useRef } from "react";
import { useQuery } from "urql";
import { pause } from "../query/fetch-again.ts";
import { client, graphql, isAnonymous, isSessionEnded, resultOf } from "../query/graph.ts";
import { liveClient } from "../query/live.ts";
import type { Wallet } from "../wallet/wallet.ts";
import { endOwn, keepOnly } from "./own-storage.ts";
import { leaveEnded, noteEnded, notifyTabs } from "./session-watch.ts";
import { useSessionEnd } from "./use-session-end.ts";
import { addressOf, reasonUnknown } from "./who.ts";

const WHO = graphql(`
  query Who {
    viewer { kind operator account { address } session { expiresAt } }
    network { networkId name symbol chainId chainIdHex explorerUrl walletParameters contracts { name address } }
  }
`);
const NONCE = graphql("mutation Nonce { createSignInNonce { nonce userErrors { message } } }");
const SIGN_IN = graphql(`
  mutation SignIn($input: SignInInput!) { signIn(input: $input) { token userErrors { message } } }
`);
const SIGN_OUT = graphql(
  "mutation SignOut($input: SignOutInput) { signOut(input: $input) { endedSessionCount } }",
);

const COOKIE = "/dashboard/session";
const SESSION_HOURS = 12;
/** No page can be shown before the session is known, so its query is retried, with at most the fourth `pause`. */
const RETRY_PAUSES = 4;

export type Network = {
  readonly networkId: string;
  readonly name: string;
  readonly symbol: string;
  readonly chainId: number;
  readonly chainIdHex: string;
  readonly explorerUrl: string | null;
  readonly walletParameters: unknown;
  readonly contracts: readonly { readonly name: string; readonly address: string | null }[];
};

type Session = {
  /** Undefined while loading. */
  readonly address: string | null | undefined;
  readonly network: Network | undefined;
  /** Whether the account is an operator's of the service. */
  readonly isOperator: boolean;
  readonly failure: string | undefined;
  signIn(wallet: Wallet): Promise<void>;
  signOut(everywhere?: boolean): Promise<void>;
};

const SessionContext = createContext<Session | undefined>(undefined);

/** Provides the session. The token is stored only in a cookie that no script can read. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const [who, refetch] = useQuery({ query: WHO });
  const refresh = () => {
    liveClient.reconnect();
    refetch({ requestPolicy: "network-only" });
  };
  const network = who.data?.network ?? undefined;
  const address = addressOf(who);
  const isKnown = address !== undefined && network !== undefined;
  const hasFailed = who.error !== undefined && !isKnown && !who.fetching;
  const isCookieOld = who.error !== undefined && isSessionEnded(who.error);
  const isDropped = useRef(false);
  useEffect(() => {
    if (!hasFailed) return;
    const stopped = new AbortController();
    const wait = async () => {
      // Without its cookie, the caller is anonymous.
      if (isCookieOld && !isDropped.current) isDropped.current = await dropCookie();
      else await pause(RETRY_PAUSES, stopped.signal);
      if (!stopped.signal.aborted) refetch({ requestPolicy: "network-only" });
    };
    wait().catch(() => {});
    return () => stopped.abort();
  }, [hasFailed, isCookieOld, refetch]);
  const isLeaving = useRef(false);
  const isOver = useSessionEnd(address, isLeaving, refresh);
  const session: Session = {
    // Over: nothing of the account is shown until the page is loaded again.
    address: isOver ? undefined : address,
    network,
    isOperator: who.data?.viewer?.operator ?? false,
    failure: who.error && !isKnown && !isCookieOld ? reasonUnknown(who.error) : undefined,
    async signIn(wallet) {
      if (!network) throw new Error("The network is not loaded yet.");
      try {
        const { toChecksum } = await import("../wallet/wallet.ts");
        const address = toChecksum(await wallet.address());
        const asked = await client.mutation(NONCE, {}).toPromise();
        const { nonce } = resultOf(asked.data?.createSignInNonce, asked.error);
        const message = signInText(address, network.chainId, nonce ?? "");
        const signature = await wallet.sign(message, address);
        const signed = await client.mutation(SIGN_IN, { input: { message, signature } }).toPromise();
        const { token } = resultOf(signed.data?.signIn, signed.error);
        const stored = await fetch(COOKIE, {
          method: "POST",
          headers: { authorization: `Bearer ${token}` },
        });
        if (!stored.ok) throw new Error("The session could not be stored.");
        keepOnly(address);
        notifyTabs("signed-in");
      } finally {
        refresh();
      }
    },
    async signOut(everywhere = false) {
      isLeaving.current = true;
      try {
        if (address) {
          const revoked = import("./session-key.ts").then(({ revokeSessionKeys }) =>
            revokeSessionKeys(address),
          );
          // Signing out does not wait for a part that is gone: the keys expire by themselves.
          await revoked.catch(() => {});
        }
        const { error } = await client.mutation(SIGN_OUT, { input: { everywhere } }).toPromise();
        // The cookie stays: without it, this browser could not end the session any more.
        if (error && !isSessionEnded(error) && !isAnonymous(error)) throw error;
        await fetch(COOKIE, { method: "DELETE" });
      } catch (error) {
        isLeaving.current = false;
        throw error;
      }
      notifyTabs("signed-out");
      endOwn();
      leaveEnded();
    },
  };
  return <SessionContext value={session}>{children}</SessionContext>;
}

/** Drops the cookie of a session that has ended. False if it could not be dropped. */
async function dropCookie(): Promise<boolean> {
  noteEnded(true);
  const dropped = await fetch(COOKIE, { method: "DELETE" }).catch(() => undefined);
  return dropped?.ok === true;
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("useSession requires a SessionProvider");
  return session;
}

/** The network, on pages that are rendered only after it is loaded. */
export function useNetwork(): Network {
  const { network } = useSession();
  if (!network) throw new Error("the network is not loaded");
  return network;
}

/** The text that a wallet signs to sign in (EIP-4361). */
function signInText(address: string, chainId: number, nonce: string): string {
  const now = new Date();
  const expires = new Date(now.getTime() + SESSION_HOURS * 3_600_000);
  return [
    `${location.host} wants you to sign in with your Ethereum account:`,
    address,
    "",
    "Sign in to zerograph.",
    "",
    `URI: ${location.origin}`,
    "Version: 1",
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${now.toISOString()}`,
    `Expiration Time: ${expires.toISOString()}`,
  ].join("\n");
}
