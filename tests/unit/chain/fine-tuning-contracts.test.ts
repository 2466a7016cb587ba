import { expect, test } from "vitest";
import { chooseFineTuning, fineTuningContracts } from "../../../src/chain/direct/fine-tuning-contracts.ts";
import { NETWORKS } from "../../../src/chain/networks.ts";

const { testnet, mainnet, devnet } = NETWORKS;
const V11 = "0xC6C075D8039763C8f1EbE580be5ADdf2fd6941bA";
const V10 = "0x562a07530BdE7fe867E84f5a278829Ab5463E92a";

test("the testnet has two versions, and history before 2026-02-12 belongs to the old one", () => {
  expect(fineTuningContracts(testnet).map(({ version, address }) => [version, address])).toEqual([
    ["v1.1", V11],
    ["v1.0", V10],
  ]);
  const at = (text: string) => chooseFineTuning(testnet, { at: new Date(text) }).address;
  expect([at("2025-06-01T00:00:00Z"), at("2026-02-11T23:59:59.999Z")]).toEqual([V10, V10]);
  expect([at("2026-02-12T00:00:00Z"), at("2030-01-01T00:00:00Z")]).toEqual([V11, V11]);
  expect(chooseFineTuning(testnet, {}).address).toBe(V11);
  expect(chooseFineTuning(testnet, { version: "v1.0" })).toMatchObject({ address: V10, isCurrent: false });
});

test("the mainnet has only version 1.0, at any time", () => {
  expect(fineTuningContracts(mainnet)).toEqual([
    {
      version: "v1.0",
      address: mainnet.contracts.computeFineTuning.address,
      isCurrent: true,
      since: null,
      until: null,
    },
  ]);
  for (const at of [new Date("2025-01-01"), new Date("2030-01-01")])
    expect(chooseFineTuning(mainnet, { at }).version).toBe("v1.0");
  expect(() => chooseFineTuning(mainnet, { version: "v1.1" })).toThrow(
    "Fine-tuning v1.1 is not deployed on 0G Mainnet.",
  );
});

test("a network without fine-tuning is reported as such", () => {
  expect(fineTuningContracts(devnet)).toEqual([]);
  expect(() => chooseFineTuning(devnet, {})).toThrow("Fine-tuning is not deployed on");
});
