import type { Provider } from "../../../src/inference/providers/provider.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";

export const MODEL = "sim-chat";
export const IMAGE_MODEL = "sim-image";

/** Neuron per token, or per image: no multiples of a power of two, above 2^53, the cheapest first. */
const CHAT_PRICES = [
  { input: 70_000_000_000_000_003n, output: 110_000_000_000_000_007n },
  { input: 80_000_000_000_000_021n, output: 130_000_000_000_000_033n },
  { input: 90_000_000_000_000_051n, output: 170_000_000_000_000_063n },
] as const;
const IMAGE_PRICES = [230_000_000_000_000_009n, 270_000_000_000_000_011n] as const;

/** The unit of the world's money: the most expensive answer token. */
export const [, , { output: UNIT }] = CHAT_PRICES;

/** The simulated providers: three for chats, two for images. */
export const OFFERS: readonly Provider[] = [
  ...CHAT_PRICES.map(({ input, output }, n) => offer(n, { inputPrice: input, outputPrice: output })),
  ...IMAGE_PRICES.map((outputPrice, n) =>
    offer(CHAT_PRICES.length + n, {
      serviceType: "text-to-image",
      model: IMAGE_MODEL,
      inputPrice: 0n,
      outputPrice,
    }),
  ),
];

function offer(n: number, fields: Partial<Provider>): Provider {
  const address: Hex = `0x${"a".repeat(39)}${n}`;
  return {
    address,
    serviceType: "chatbot",
    url: "https://provider.invalid",
    model: MODEL,
    verifiability: "TeeML",
    inputPrice: 0n,
    outputPrice: 0n,
    teeSigner: address,
    teeAcknowledged: true,
    isCentralized: false,
    source: "chain",
    profile: { formats: ["openai"] },
    updatedAt: new Date(0),
    ...fields,
  };
}
