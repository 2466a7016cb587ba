import type { Hex } from "../kernel/hex.ts";

/** A key pair as anvil makes it; the checksummed address goes with the key. */
export type DevAccount = { readonly address: Hex; readonly privateKey: Hex };

/**
 * Anvil's first dev account: deploys and owns the development network's contracts.
 *
 * WARNING: the private keys in this file are PUBLIC (they come from the mnemonic "test test ... junk" that everybody
 * has). Money sent to them on a real network is stolen within seconds.
 */
export const DEPLOYER: DevAccount = {
  address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  privateKey: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
};

/** Anvil's second: the router's own wallet, which pays providers. WARNING: its key is PUBLIC, see DEPLOYER. */
export const ROUTER_WALLET: DevAccount = {
  address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  privateKey: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
};

/** Anvil's third: the stand-in inference provider and its enclave's signer. WARNING: its key is PUBLIC, see DEPLOYER. */
export const PROVIDER: DevAccount = {
  address: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  privateKey: "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
};

/** Anvil's fourth: the demo user, who deposits and holds keys. WARNING: its key is PUBLIC, see DEPLOYER. */
export const DEMO_USER: DevAccount = {
  address: "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
  privateKey: "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
};
