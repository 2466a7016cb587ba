import { keccak_256 } from "@noble/hashes/sha3.js";
import { createStore, type EIP1193Provider, type EIP6963ProviderDetail } from "mipd";

/** A wallet that signs for an address: of this browser, or of the development network. */
export type Wallet = {
  readonly id: string;
  readonly name: string;
  /** A data URL, as the wallet announces it. */
  readonly icon: string | undefined;
  readonly isDevelopment: boolean;
  address(): Promise<string>;
  sign(text: string, address: string): Promise<string>;
  /** Sends a transaction and returns its hash. */
  send(transaction: { to: string; data: string; value: string; chain: WalletChain }): Promise<string>;
};

/** A chain in the format of `wallet_addEthereumChain`. */
export type WalletChain = { readonly chainId: string } & Readonly<Record<string, unknown>>;

const store = createStore();

/** Calls back with the wallets of this browser, now and whenever one announces itself (EIP-6963). */
export function watchWallets(onChange: (wallets: readonly Wallet[]) => void): () => void {
  onChange(store.getProviders().map(toWallet));
  return store.subscribe((providers) => onChange(providers.map(toWallet)));
}

const DEVELOPMENT = "/dashboard/development-wallet";

/** The wallet of the development network, whose key is public; undefined on a real network. */
export async function developmentWallet(): Promise<Wallet | undefined> {
  const response = await fetch(DEVELOPMENT);
  if (!response.ok) return undefined;
  const { address } = (await response.json()) as { address: string };
  return {
    id: "development",
    name: "Development wallet",
    icon: undefined,
    isDevelopment: true,
    address: async () => address,
    sign: async (text) => (await post<{ signature: string }>("sign", { text })).signature,
    send: async ({ to, data, value }) => (await post<{ hash: string }>("send", { to, data, value })).hash,
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
    async send({ to, data, value, chain }) {
      const [from] = await provider.request({ method: "eth_requestAccounts" });
      await switchToChain(provider, chain);
      const transaction = { from, to, data, value: `0x${BigInt(value).toString(16)}` };
      return provider.request({ method: "eth_sendTransaction", params: [transaction as never] });
    },
  };
}

const UNKNOWN_CHAIN = 4902;

/** An address with the EIP-55 checksum, which the sign-in text requires. */
export function toChecksum(address: string): string {
  const digits = address.slice(2).toLowerCase();
  const hash = keccak_256(new TextEncoder().encode(digits));
  const capital = (at: number) => ((hash[at >> 1] ?? 0) >> (at % 2 === 0 ? 4 : 0)) % 16 >= 8;
  return `0x${[...digits].map((digit, at) => (capital(at) ? digit.toUpperCase() : digit)).join("")}`;
}

/** Switches the wallet to our chain, adding the chain if the wallet does not know it. */
async function switchToChain(provider: EIP1193Provider, chain: WalletChain): Promise<void> {
  try {
    await provider.request({
      method: "wallet_switchEthereumChain",
      params: [{ chainId: chain.chainId }],
    });
  } catch (error) {
    if ((error as { code?: number }).code !== UNKNOWN_CHAIN) throw error;
    await provider.request({ method: "wallet_addEthereumChain", params: [chain as never] });
  }
}

function toHex(text: string): `0x${string}` {
  return `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
