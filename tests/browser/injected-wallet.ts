import type { Page } from "playwright-core";
import type { Hex } from "../../src/kernel/text/hex.ts";

/** A wallet of the browser whose account the chain at `rpcUrl` signs for, and what its user does. */
export type InjectedWallet = {
  /** The methods that were requested, in their order. */
  readonly requests: string[];
  /** Methods that its user refuses. */
  readonly refused: Set<string>;
  /** Its own answers to methods, in place of the chain's. */
  readonly answers: Map<string, unknown>;
  /** The account that its user has selected. */
  account: Hex;
  /** What is awaited before a method is answered, such as its user, by method. */
  readonly held: Map<string, Promise<unknown>>;
  chainId: string;
  /** Whether it needs `wallet_addEthereumChain` before it can switch. */
  knowsChain: boolean;
  /** Whether it says that it switched, and stays where it is. */
  stays: boolean;
};

type Request = { readonly method: string; readonly params?: readonly unknown[] };
type Answer = { readonly result: unknown } | { readonly error: { code: number; message: string } };

/**
 * Announces a wallet to the pages that are loaded from now on (EIP-6963). It reaches the chain from the test's process,
 * as extensions do: the page itself may connect to its own origin only.
 */
export async function injectWallet(
  page: Page,
  { name, account, rpcUrl }: { readonly name: string; readonly account: Hex; readonly rpcUrl: string },
): Promise<InjectedWallet> {
  const wallet: InjectedWallet = {
    requests: [],
    refused: new Set(),
    answers: new Map(),
    account,
    held: new Map(),
    chainId: "0x40da",
    knowsChain: true,
    stays: false,
  };
  const binding = `request${name.replaceAll(" ", "")}`;
  await page.exposeFunction(binding, (request: Request) => answer(wallet, rpcUrl, request));
  await page.addInitScript(`{
    const info = { uuid: ${JSON.stringify(name)}, name: ${JSON.stringify(name)}, rdns: "test.wallet",
      icon: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'><rect width='1' height='1' fill='teal'/></svg>" };
    const provider = { on() {}, removeListener() {}, async request(request) {
      const answer = await window[${JSON.stringify(binding)}](request);
      if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
      return answer.result;
    } };
    const announce = () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider",
      { detail: Object.freeze({ info, provider }) }));
    window.addEventListener("eip6963:requestProvider", announce);
    announce();
  }`);
  return wallet;
}

async function answer(
  wallet: InjectedWallet,
  rpcUrl: string,
  { method, params = [] }: Request,
): Promise<Answer> {
  wallet.requests.push(method);
  await wallet.held.get(method);
  if (wallet.refused.has(method)) return { error: { code: 4001, message: "User rejected the request." } };
  if (wallet.answers.has(method)) return { result: wallet.answers.get(method) };
  switch (method) {
    case "eth_accounts":
    case "eth_requestAccounts":
      return { result: [wallet.account] };
    case "eth_chainId":
      return { result: wallet.chainId };
    case "wallet_switchEthereumChain": {
      if (!wallet.knowsChain) return { error: { code: 4902, message: "Unrecognized chain ID." } };
      const [chain] = params as [{ chainId: string }];
      if (!wallet.stays) wallet.chainId = chain.chainId;
      return { result: null };
    }
    case "wallet_addEthereumChain":
      wallet.knowsChain = true;
      return { result: null };
    default: {
      const reply = await fetch(rpcUrl, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      return (await reply.json()) as Answer;
    }
  }
}
