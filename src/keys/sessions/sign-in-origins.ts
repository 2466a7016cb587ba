import { isLocalOrigin } from "../../kernel/text/local-origin.ts";
import type { SignInOrigins } from "./sign-in-message.ts";

/**
 * The origins on which wallets may sign in (`https://app.example.com`). Without a list there are none, except that a
 * development network allows every page on this machine.
 */
export function signInOrigins({
  origins,
  chainId,
  isDevnet,
}: {
  readonly origins: readonly string[] | undefined;
  readonly chainId: number;
  readonly isDevnet: boolean;
}): SignInOrigins {
  const listed = new Set(origins?.map((origin) => new URL(origin).origin));
  const isOpen = origins === undefined && isDevnet;
  return {
    chainId,
    hasOrigin: (url) => listed.has(url.origin) || (isOpen && isLocalOrigin(url.origin)),
  };
}
