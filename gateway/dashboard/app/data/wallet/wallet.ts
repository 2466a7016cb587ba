import { keccak_256 } from "@noble/hashes/sha3.js";
import { createStore, type EIP6963ProviderDetail } from "mipd";
import {
  countSent,
  hasAccount,
  sendThrough,
  untilMined,
  type WalletChain,
  type WalletTransaction,
} from "./wallet-requests.ts";

/** A wallet that signs for an address: of this browser, or of the development network. */
export type Wallet = {
  readonly id: string;
  readonly name: string;
  /** A data URL, as the wallet announces it. */
  readonly icon: string | undefined;
  readonly isDevelopment: boolean;
  address(): Promise<string>;
  sign(text: string, address: string): Promise<string>;
  /**
   * Sends a transaction and returns its hash. Throws if the wallet refuses, stays on another chain, or, with `from`,
   * does not have that account.
   */
  send(transaction: WalletTransaction): Promise<string>;
  /** Whether it has shown an account to this page. Asks its user nothing. */
  has(address: string): Promise<boolean>;
  /**
   * How many transactions an account has sent on a chain, those in no block included; undefined if it does not say.
   * Throws, as `send`, what keeps it from sending.
   */
  sentCount(address: string, chain: WalletChain): Promise<number | undefined>;
  /** Resolves when a sent transaction is in a block. Throws if it was reverted, and when `signal` aborts. */
  mined(hash: string, signal: AbortSignal): Promise<void>;
};

/** The wallet of a development network, and its stand-in oracle of agent tokens. */
export type DevelopmentWallet = Wallet & {
  readonly account: string;
  /** The accounts that `prove` makes proofs for. */
  readonly receivers: readonly string[];
  /** The proofs of a transfer of a token with this data, as `TransferProofInput`. */
  prove(to: string, dataHashes: readonly string[]): Promise<readonly TransferProof[]>;
};

/** `oracleType` is in lower case. */
export type TransferProof = {
  readonly accessProof: Readonly<Record<"dataHash" | "targetPubkey" | "nonce" | "proof", string>>;
  readonly ownershipProof: Readonly<
    Record<"oracleType" | "dataHash" | "sealedKey" | "targetPubkey" | "nonce" | "proof", string>
  >;
};

const store = createStore();

/** The wallets of this browser that have announced themselves (EIP-6963). */
export function browserWallets(): readonly Wallet[] {
  return store.getProviders().map(toWallet);
}

/** Calls back with the wallets of this browser, now and whenever one announces itself. */
export function watchWallets(onChange: (wallets: readonly Wallet[]) => void): () => void {
  onChange(browserWallets());
  return store.subscribe((providers) => onChange(providers.map(toWallet)));
}

const DEVELOPMENT = "/dashboard/development-wallet";

/** The wallet of the development network, whose key is public; undefined if the gateway has none. Throws if it fails. */
export async function developmentWallet(): Promise<DevelopmentWallet | undefined> {
  const response = await fetch(DEVELOPMENT);
  if (!response.ok && response.status !== 404) throw new Error(`The gateway answered ${response.status}.`);
  // Of a gateway without this wallet, the path is a page of the dashboard.
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  if (!response.ok || !isJson) return undefined;
  const { address, receivers } = (await response.json()) as {
    address: string;
    receivers: readonly string[];
  };
  return {
    account: address,
    receivers,
    prove: async (to, dataHashes) =>
      (await post<{ proofs: readonly TransferProof[] }>("prove", { to, dataHashes })).proofs,
    id: "development",
    name: "Development wallet",
    icon: undefined,
    isDevelopment: true,
    address: async () => address,
    sign: async (text) => (await post<{ signature: string }>("sign", { text })).signature,
    send: async ({ to, data, value }) => (await post<{ hash: string }>("send", { to, data, value })).hash,
    has: async (other) => other.toLowerCase() === address.toLowerCase(),
    sentCount: async () => undefined,
    // It sends until the transaction is mined.
    mined: async () => {},
  };
}

async function post<Answer>(what: string, body: object): Promise<Answer> {
  const response = await fetch(`${DEVELOPMENT}/${what}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    const { error } = (await response.json().catch(() => ({}))) as { error?: { message?: string } };
    throw new Error(error?.message ?? "The development wallet refused the request.");
  }
  return (await response.json()) as Answer;
}

function toWallet({ info, provider }: EIP6963ProviderDetail): Wallet {
  return {
    id: info.uuid,
    name: info.name,
    icon: /^data:image\/(svg\+xml|png|webp|gif|jpeg)/.test(info.icon) ? info.icon : undefined,
    isDevelopment: false,
    async address() {
      const [address] = await provider.request({ method: "eth_requestAccounts" });
      if (!address) throw new Error("The wallet returned no address.");
      return address;
    },
    sign: (text, address) =>
      provider.request({ method: "personal_sign", params: [toHex(text), address as `0x${string}`] }),
    send: (transaction) => sendThrough(provider, info.name, transaction),
    has: (address) => hasAccount(provider, address),
    sentCount: (from, chain) => countSent(provider, info.name, { from, chain }),
    mined: (hash, signal) => untilMined(provider, hash, signal),
  };
}

/** An address with the EIP-55 checksum, which the sign-in text requires. */
export function toChecksum(address: string): string {
  const digits = address.slice(2).toLowerCase();
  const hash = keccak_256(new TextEncoder().encode(digits));
  const capital = (at: number) => ((hash[at >> 1] ?? 0) >> (at % 2 === 0 ? 4 : 0)) % 16 >= 8;
  return `0x${[...digits].map((digit, at) => (capital(at) ? digit.toUpperCase() : digit)).join("")}`;
}

function toHex(text: string): `0x${string}` {
  return `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
