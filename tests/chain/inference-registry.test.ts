import { createPublicClient, custom, decodeFunctionData, encodeFunctionResult } from "viem";
import { describe, expect, test } from "vitest";
import { inferenceServingAbi } from "../../src/chain/abi/inference-serving.ts";
import { InferenceRegistry } from "../../src/chain/direct/inference-registry.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";

const REGISTRY: Hex = `0x${"c0".repeat(20)}`;

describe("the inference registry", () => {
  test("a service that a removal moves between two pages is not missed", async () => {
    const { registry, services, mine } = openRegistry(120);
    let reads = 0;
    mine.beforeRead = () => {
      // As the contract removes a row: the last one takes its place.
      if (++reads === 3) mine.block(services.with(3, services.at(-1) ?? "0x").slice(0, -1));
    };
    const found = (await registry.all()).map(({ address }) => address);
    expect(found.toSorted()).toEqual(services.toSorted());
    expect(await registry.all()).toHaveLength(119);
  });

  test("a backend that lacks the newest block does not hide the services", async () => {
    const { registry, services, mine } = openRegistry(120);
    mine.lags = true;
    expect(await registry.all()).toHaveLength(services.length);
  });

  test("few services are read in one call, and none is an empty list", async () => {
    for (const count of [0, 50]) {
      const { registry, mine } = openRegistry(count);
      expect(await registry.all()).toHaveLength(count);
      expect(mine.calls).toBe(1);
    }
  });

  test("hundreds of providers are looked up by a few calls at a time", async () => {
    const { registry, services, mine } = openRegistry(100);
    const found = await registry.byProviders(services);
    expect(found.map((service) => service?.address)).toEqual(services);
    expect(mine.most).toBeLessThanOrEqual(16);
  });
});

/** A registry on a chain that keeps the state of each block. */
function openRegistry(count: number) {
  const services = Array.from(
    { length: count },
    (_, n): Hex => `0x${(n + 1).toString(16).padStart(40, "0")}`,
  );
  const blocks: (readonly Hex[])[] = [services];
  const mine = {
    calls: 0,
    running: 0,
    most: 0,
    lags: false,
    beforeRead: () => {},
    block: (rows: readonly Hex[]) => void blocks.push(rows),
  };
  const call = async ([{ data }, at]: [{ data: Hex }, string]) => {
    if (mine.lags && at !== "latest") throw new Error("header not found");
    mine.beforeRead();
    mine.calls++;
    mine.most = Math.max(mine.most, ++mine.running);
    await new Promise(setImmediate);
    mine.running--;
    const rows = (at === "latest" ? blocks.at(-1) : blocks[Number(at)]) ?? [];
    const { functionName, args } = decodeFunctionData({ abi: inferenceServingAbi, data });
    if (functionName === "getService") return result("getService", toRow(args[0]));
    if (functionName !== "getAllServices") throw new Error(functionName);
    const [offset = 0n, limit = 50n] = (args ?? []) as readonly bigint[];
    const page = rows.slice(Number(offset), Number(offset + limit));
    return result("getAllServices", [page.map(toRow), BigInt(rows.length)]);
  };
  const transport = custom({
    request: async ({ method, params }) => {
      if (method === "eth_blockNumber") return `0x${(blocks.length - 1).toString(16)}`;
      return call(params);
    },
  });
  const registry = new InferenceRegistry(createPublicClient({ transport }), REGISTRY);
  return { registry, services, mine };
}

function result(functionName: "getService" | "getAllServices", value: unknown): Hex {
  return encodeFunctionResult({ abi: inferenceServingAbi, functionName, result: value as never });
}

function toRow(provider: Hex) {
  return {
    ...{ provider, serviceType: "chatbot", url: "https://p.example", model: "m", verifiability: "TeeML" },
    ...{ inputPrice: 1n, outputPrice: 1n, updatedAt: 1n, additionalInfo: "" },
    ...{ teeSignerAddress: provider, teeSignerAcknowledged: true },
  };
}
