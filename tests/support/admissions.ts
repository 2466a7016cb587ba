import type { HoldRequest } from "../../src/accounts/holds.store.ts";
import type { Settlement } from "../../src/accounts/settlements.store.ts";
import { newRequestId } from "../../src/kernel/text/ids.ts";
import type { Seeded } from "./seed.ts";

/** A request of the account and its key that holds exactly this much. */
export function requestFor(
  { account, keyId }: Omit<Seeded, "secret">,
  neuron: bigint,
  more: Partial<HoldRequest> = {},
): HoldRequest {
  return {
    id: newRequestId(),
    account,
    keyId,
    minimum: neuron,
    maximum: neuron,
    model: "model-1",
    provider: "0x00000000000000000000000000000000000000aa",
    serviceType: "chatbot",
    inputPrice: 3n,
    outputPrice: 5n,
    expiresInSeconds: 660,
    ...more,
  };
}

/** The completed end of a request, at this cost. */
export function settlementOf(id: string, neuron: bigint, more: Partial<Settlement> = {}): Settlement {
  return {
    id,
    outcome: "completed",
    inputTokens: 90,
    outputTokens: 16,
    usageEstimated: false,
    inputCost: neuron,
    outputCost: 0n,
    errorCode: undefined,
    firstByteMs: 1,
    durationMs: 2,
    ...more,
  };
}
