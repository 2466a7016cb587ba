import type { Provider } from "../../../src/inference/providers/provider.ts";
import { type Choice, choose } from "../../../src/inference/routing/choice.ts";
import type { ChoiceContext, ProviderState } from "../../../src/inference/routing/choice-context.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { UNRESTRICTED } from "../../../src/keys/api-keys/key-settings.ts";

const MODEL = "m";

/** A provider without recent requests. */
export const IDLE: ProviderState = {
  circuit: "closed",
  isResting: false,
  latencyMs: undefined,
  tokensPerSecond: undefined,
  inFlight: 0,
};

/** A chat offer of provider number `n`, which costs `n` neuron per token. */
export function offer(n: number, fields: Partial<Provider> = {}): Provider {
  return {
    address: addressOf(n),
    serviceType: "chatbot",
    source: "chain",
    profile: { formats: ["openai"] },
    url: "https://provider.example.com",
    model: MODEL,
    verifiability: "TeeML",
    inputPrice: BigInt(n),
    outputPrice: BigInt(n),
    teeSigner: addressOf(n),
    teeAcknowledged: true,
    isCentralized: false,
    updatedAt: new Date(0),
    ...fields,
  };
}

/** The address of provider number `n`. */
export function addressOf(n: number): Hex {
  return `0x${n.toString(16).padStart(40, "0")}`;
}

/** The choice among these offers of one model; providers without a state are idle. */
export function chosen(
  offers: readonly Provider[],
  given: Partial<ChoiceContext> = {},
  states: ReadonlyMap<string, ProviderState> = new Map(),
): Choice {
  return choose(
    { id: MODEL, serviceType: given.serviceType ?? "chatbot", providers: offers },
    {
      model: MODEL,
      serviceType: "chatbot",
      format: "openai",
      preferences: {},
      restrictions: UNRESTRICTED,
      stateOf: ({ address }) => states.get(address) ?? IDLE,
      standingOf: () => ({ isBound: false, isAttested: false }),
      tokenUsd: undefined,
      isKnown: (address) => offers.some((known) => known.address === address),
      ...given,
    },
  );
}

/** The addresses of the candidates, in order of failover. */
export function addresses({ candidates }: Choice): readonly Hex[] {
  return candidates.map(({ address }) => address);
}
