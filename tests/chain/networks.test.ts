import { getAddress } from "viem";
import { describe, expect, test } from "vitest";
import { CONTRACT_NAMES, NETWORKS, withAddresses } from "../../src/chain/networks.ts";
import { walletParameters } from "../../src/chain/wallet-parameters.ts";

const { testnet, mainnet, devnet } = NETWORKS;

describe("the network table", () => {
  // SPEC 2.1, row by row: testnet, mainnet.
  test.each([
    ["Chain ID (decimal)", testnet.chainId, mainnet.chainId, 16602, 16661],
    ["Chain ID (hex)", testnet.chainIdHex, mainnet.chainIdHex, "0x40DA", "0x4115"],
    ["Native token symbol", testnet.symbol, mainnet.symbol, "0G", "0G"],
    ["Native token decimals", testnet.decimals, mainnet.decimals, 18, 18],
    ["Storage start block", testnet.storageStartBlock, mainnet.storageStartBlock, 1n, 2387557n],
    ["DA start block", testnet.daStartBlock, mainnet.daStartBlock, 940000n, null],
    ["Faucet allowance, tokens a day", testnet.faucetPerDay, mainnet.faucetPerDay, "0.1", null],
  ])("matches SPEC 2.1 for '%s'", (_row, onTestnet, onMainnet, specTestnet, specMainnet) => {
    expect([onTestnet, onMainnet]).toEqual([specTestnet, specMainnet]);
  });

  test.each([testnet, mainnet])("has both fixed precompiles on $id", ({ contracts }) => {
    expect(contracts.daSigners.address).toBe("0x0000000000000000000000000000000000001000");
    expect(contracts.wrappedBase.address).toBe("0x0000000000000000000000000000000000001002");
  });

  test.each([testnet, mainnet])(
    "has every published contract on $id, and gives the reason for every missing address",
    (network) => {
      for (const name of CONTRACT_NAMES) {
        const { address, note } = network.contracts[name];
        if (["daEntrance", "agentNft", "agentMarket"].includes(name))
          expect({ address, note }).toEqual({ address: null, note: expect.any(String) });
        else expect(address).toBe(getAddress(address ?? ""));
      }
    },
  );

  test("lists the token's forms: native without a contract, wrapped on mainnet, bridged to two chains", () => {
    expect(testnet.tokens).toEqual([
      { kind: "native", chainId: 16602, symbol: "0G", decimals: 18, address: null },
    ]);
    expect(mainnet.tokens.map(({ kind, chainId }) => [kind, chainId])).toEqual([
      ["native", 16661],
      ["wrapped", 16661],
      ["bridged", 1],
      ["bridged", 56],
    ]);
    for (const { address, decimals } of mainnet.tokens) {
      expect(decimals).toBe(18);
      if (address !== null) expect(address).toBe(getAddress(address));
    }
  });

  test.each([testnet, mainnet, devnet])(
    "spells one chain id in two ways on $id",
    ({ chainId, chainIdHex }) => {
      expect(Number(chainIdHex)).toBe(chainId);
    },
  );

  test("uses the devnet's addresses while it runs, and leaves the table unchanged", () => {
    const flow = "0x00000000000000000000000000000000000000f1";
    const running = withAddresses(devnet, { rpcUrls: ["http://127.0.0.1:8545"], contracts: { flow } });
    expect(running.contracts.flow).toEqual({ address: flow, note: null });
    expect(running.contracts.mine.address).toBeNull();
    expect(devnet.contracts.flow.address).toBeNull();
  });
});

describe("wallet parameters (EIP-3085)", () => {
  test("add the testnet under the hexadecimal id of SPEC 2.1", () => {
    expect(walletParameters(testnet)).toEqual({
      chainId: "0x40DA",
      chainName: "0G Galileo Testnet",
      nativeCurrency: { name: "0G", symbol: "0G", decimals: 18 },
      rpcUrls: ["https://evmrpc-testnet.0g.ai"],
      blockExplorerUrls: ["https://chainscan-galileo.0g.ai"],
    });
  });

  test("name no explorer where there is none", () => {
    expect(walletParameters(devnet)).not.toHaveProperty("blockExplorerUrls");
  });
});
