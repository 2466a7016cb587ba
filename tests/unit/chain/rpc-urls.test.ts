import { expect, test } from "vitest";
import { NETWORKS } from "../../../src/chain/networks.ts";
import { rpcUrlsOf } from "../../../src/chain/rpc/rpc-urls.ts";

/** The endpoints and the number of warnings. */
function read(rpc: readonly string[] | undefined, network: keyof typeof NETWORKS) {
  const warnings: unknown[] = [];
  const log = { warn: (...said: unknown[]) => void warnings.push(said) };
  return [rpcUrlsOf({ RPC_URL: rpc }, NETWORKS[network], log), warnings.length];
}

test("the public endpoint of a public network logs a warning that it is for development only", () => {
  expect(read(undefined, "testnet")).toEqual([NETWORKS.testnet.rpcUrls, 1]);
  expect(read(undefined, "mainnet")).toEqual([NETWORKS.mainnet.rpcUrls, 1]);
  expect(read(["https://rpc.example"], "testnet")).toEqual([["https://rpc.example"], 0]);
  expect(read(undefined, "devnet")).toEqual([NETWORKS.devnet.rpcUrls, 0]);
});
