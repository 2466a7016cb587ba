import type { PublicClient } from "viem";
import { inferenceServingAbi } from "../chain/abi/inference-serving.ts";
import { type Hex, lowerHex } from "../kernel/hex.ts";
import type { ProviderSource } from "./catalogue.service.ts";
import { type Provider, SERVICE_TYPES, type ServiceType } from "./provider.ts";

const PAGE = 50n;
const MOST_PROVIDERS = 5_000n;

/** Reads every offer from the inference registry, page by page; rows of a service type we do not know are left out. */
export function chainProviders(client: PublicClient, registry: Hex): ProviderSource {
  return {
    async load() {
      const providers: Provider[] = [];
      for (let offset = 0n, total = 1n; offset < total && offset < MOST_PROVIDERS; offset += PAGE) {
        const [services, count] = await client.readContract({
          address: registry,
          abi: inferenceServingAbi,
          functionName: "getAllServices",
          args: [offset, PAGE],
        });
        total = count;
        providers.push(...services.flatMap(toProvider));
      }
      return providers;
    },
  };
}

type ServiceRow = {
  readonly provider: Hex;
  readonly serviceType: string;
  readonly url: string;
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly updatedAt: bigint;
  readonly model: string;
  readonly verifiability: string;
  readonly teeSignerAddress: Hex;
  readonly teeSignerAcknowledged: boolean;
};

function toProvider(row: ServiceRow): readonly Provider[] {
  if (!isServiceType(row.serviceType)) return [];
  return [
    {
      address: lowerHex(row.provider),
      url: row.url.replace(/\/+$/, ""),
      model: row.model,
      serviceType: row.serviceType,
      inputPrice: row.inputPrice,
      outputPrice: row.outputPrice,
      verifiability: row.verifiability,
      teeSigner: lowerHex(row.teeSignerAddress),
      teeAcknowledged: row.teeSignerAcknowledged,
      updatedAt: new Date(Number(row.updatedAt) * 1_000),
    },
  ];
}

function isServiceType(text: string): text is ServiceType {
  return (SERVICE_TYPES as readonly string[]).includes(text);
}
