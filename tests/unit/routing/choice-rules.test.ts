import { describe, expect, test } from "vitest";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { choose } from "../../../src/inference/routing/choice.ts";
import type {
  ChoiceContext,
  ProviderState,
  RefusalReason,
} from "../../../src/inference/routing/choice-context.ts";
import type { EvidenceStanding } from "../../../src/inference/routing/evidence-floor.ts";
import { readUsd } from "../../../src/inference/routing/routing-preferences.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { UNRESTRICTED } from "../../../src/keys/api-keys/key-settings.ts";
import { addresses, addressOf, chosen, IDLE, offer } from "../../support/inference/offers.ts";

const GOOD = offer(9);
const caps = (fields: object): Partial<ChoiceContext> => ({
  preferences: { caps: fields },
  // At 10^12 dollars per network token, one neuron per token is one dollar per million.
  tokenUsd: 10n ** 30n,
});
const usd = (text: string) => readUsd(text);

function errorOf(run: () => unknown): { code?: string; param?: string | null; message?: string } {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  return {};
}

/** Only the good provider has proved anything. */
function proved(standing: Partial<EvidenceStanding>): ChoiceContext["standingOf"] {
  const nothing = { isBound: false, isAttested: false };
  return (provider) =>
    provider === GOOD ? { isBound: true, isAttested: true } : { ...nothing, ...standing };
}

describe("a provider that is not used has its reason, and the others are used", () => {
  test.each<[RefusalReason, Partial<Provider>, Partial<ChoiceContext>]>([
    ["not_pinned", {}, { preferences: { pin: GOOD.address } }],
    ["not_in_only", {}, { preferences: { only: [addressOf(8), GOOD.address] } }],
    ["ignored", {}, { preferences: { ignore: [addressOf(1), addressOf(8)] } }],
    ["not_allowed_for_key", {}, { restrictions: { ...UNRESTRICTED, providers: [GOOD.address] } }],
    ["format_not_supported", { profile: { formats: ["anthropic"] } }, {}],
    ["unroutable", { unroutable: "not https" }, {}],
    ["unroutable", { unroutable: "not https", teeAcknowledged: false }, {}],
    ["signer_not_acknowledged", { teeAcknowledged: false }, {}],
    ["below_trust_mode", { isCentralized: true }, { preferences: { trustMode: "private" } }],
    [
      "below_trust_mode",
      { isCentralized: true },
      { restrictions: { ...UNRESTRICTED, trustMode: "private" }, preferences: { trustMode: "verified" } },
    ],
    ["below_trust_mode", { verifiability: "" }, { preferences: { trustMode: "verified" } }],
    ["lacks_evidence", {}, { preferences: { evidence: "bound" }, standingOf: proved({ isAttested: true }) }],
    ["lacks_evidence", {}, { preferences: { evidence: "attested" }, standingOf: proved({ isBound: true }) }],
    [
      "lacks_evidence",
      {},
      {
        preferences: { evidence: "bound" },
        restrictions: { ...UNRESTRICTED, providerEvidence: "attested" },
        standingOf: (provider) => ({ isBound: true, isAttested: provider === GOOD }),
      },
    ],
    ["above_max_price", { inputPrice: 10n }, caps({ prompt: usd("9") })],
    ["above_max_price", { outputPrice: 10n }, caps({ completion: usd("9") })],
    ["context_too_short", { profile: { formats: ["openai"], contextLength: 99 } }, { answerTokens: 100 }],
  ])("%s", (reason, fields, given) => {
    const other = offer(1, fields);
    const choice = chosen([other, GOOD], given);
    expect(addresses(choice)).toEqual([GOOD.address]);
    expect(choice.refused).toEqual([{ provider: other.address, reason }]);
  });
});

describe("a trust mode", () => {
  const standard = offer(1, { verifiability: "" });
  const verified = offer(2, { isCentralized: true });
  const isPrivate = offer(3);
  const numbers = (given: Partial<ChoiceContext>) =>
    chosen([standard, verified, isPrivate], given).candidates.map(({ inputPrice }) => inputPrice);

  test("is a minimum: private providers are also verified, and without one all are used", () => {
    expect(numbers({})).toEqual([1n, 2n, 3n]);
    expect(numbers({ preferences: { trustMode: "verified" } })).toEqual([2n, 3n]);
    expect(numbers({ preferences: { trustMode: "private" } })).toEqual([3n]);
    expect(numbers({ restrictions: { ...UNRESTRICTED, trustMode: "verified" } })).toEqual([2n, 3n]);
  });
});

describe("the order of the candidates", () => {
  const offers = [offer(1), offer(2), offer(3)];
  const numbers = (given: Parameters<typeof chosen>[1], states?: Parameters<typeof chosen>[2]) =>
    chosen(offers, given, states).candidates.map(({ inputPrice }) => inputPrice);

  test("begins with the client's list, in its order, and the rest follow by the preference", () => {
    expect(numbers({ preferences: { order: [addressOf(3)] } })).toEqual([3n, 1n, 2n]);
    expect(numbers({ preferences: { order: [addressOf(3), addressOf(9), addressOf(2)] } })).toEqual([
      3n,
      2n,
      1n,
    ]);
    expect(numbers({ preferences: { order: [addressOf(3)], allowFallbacks: false } })).toEqual([3n]);
    const reversed = chosen(offers.toReversed(), { preferences: { order: [addressOf(2)] } });
    expect(addresses(reversed)).toEqual([2, 1, 3].map(addressOf));
  });

  test("is by throughput if the client asks for it; a provider that was not measured is tried first", () => {
    const speeds = new Map<string, ProviderState>([
      [addressOf(1), { ...IDLE, tokensPerSecond: 20 }],
      [addressOf(2), { ...IDLE, tokensPerSecond: 90.5 }],
    ]);
    expect(numbers({ preferences: { sort: "throughput" } }, speeds)).toEqual([3n, 2n, 1n]);
    const sorted = { preferences: { sort: "throughput" } } as const;
    expect(addresses(chosen(offers.toReversed(), sorted, speeds))).toEqual([3, 2, 1].map(addressOf));
    // Of equal ones, the cheapest.
    expect(addresses(chosen(offers.toReversed(), sorted))).toEqual([1, 2, 3].map(addressOf));
    expect(numbers({ preferences: {} }, speeds)).toEqual([1n, 2n, 3n]);
  });

  test("lists that exclude every provider are an error, and a key's restrictions apply beside them", () => {
    const only = [addressOf(1)];
    for (const [param, preferences] of [
      ["provider.only", { only: [addressOf(9)] }],
      ["provider.only", { only: [] }],
      ["provider.ignore", { only, ignore: only }],
    ] as const)
      expect(errorOf(() => chosen(offers, { preferences }))).toMatchObject({
        code: "provider_model_mismatch",
        param,
        message: expect.stringContaining("exclude"),
      });
    const restrictions = { ...UNRESTRICTED, providers: [addressOf(2)] };
    expect(errorOf(() => chosen(offers, { preferences: { only }, restrictions })).code).toBe("access_denied");
  });
});

describe("an error of the choice names its cause as the client sent it", () => {
  const empty = { id: "m", serviceType: "chatbot", providers: [] } as const;
  const context = (fields: Partial<ChoiceContext> = {}): ChoiceContext => ({
    model: "gpt",
    serviceType: "chatbot",
    format: "openai",
    preferences: {},
    restrictions: UNRESTRICTED,
    stateOf: () => IDLE,
    standingOf: () => ({ isBound: false, isAttested: false }),
    tokenUsd: undefined,
    isKnown: () => false,
    ...fields,
  });

  test("an unknown model, with the kind of model that was requested", () => {
    for (const model of [undefined, empty])
      expect(errorOf(() => choose(model, context()))).toMatchObject({
        code: "model_not_found",
        param: "model",
        message: 'There is no chat model "gpt".',
      });
    const image = errorOf(() => choose(undefined, context({ serviceType: "text-to-image" })));
    expect(image.message).toBe('There is no text-to-image model "gpt".');
  });

  test("a model or provider that the key may not use", () => {
    const model = errorOf(() => chosen([GOOD], { restrictions: { ...UNRESTRICTED, models: ["other"] } }));
    expect(model).toMatchObject({ code: "access_denied", param: "model" });
    expect(model.message).toContain('"m"');
    const providers = [addressOf(1)];
    const provider = errorOf(() => chosen([GOOD], { restrictions: { ...UNRESTRICTED, providers } }));
    expect(provider).toMatchObject({ code: "access_denied", param: "model" });
    expect(provider.message).toContain("providers");
  });

  test("a pin, whether or not such a provider exists", () => {
    const preferences = { pin: addressOf(7) };
    expect(errorOf(() => chosen([GOOD], { preferences })).message).toContain(addressOf(7));
    const mismatch = errorOf(() => chosen([GOOD], { preferences, isKnown: () => true }));
    expect(mismatch.message).toBe(`The provider ${addressOf(7)} does not offer the model "m".`);
  });

  test("a format that no provider supports, with the formats that are supported and the endpoint to use", () => {
    const anthropic = offer(1, { profile: { formats: ["anthropic"] } });
    expect(errorOf(() => chosen([anthropic, offer(2, anthropic)]))).toMatchObject({
      code: "invalid_body",
      param: "model",
      message:
        'model "m" is not available on the openai API format (supported: anthropic); use POST /v1/messages instead',
    });
    const message = errorOf(() => chosen([GOOD], { format: "anthropic" })).message;
    expect(message).toContain("(supported: openai); use POST /v1/chat/completions instead");
    const others = offer(1, { profile: { formats: ["completions", "responses"] } });
    expect(errorOf(() => chosen([others])).message).toContain(
      "(supported: completions, responses); use POST /v1/completions or /v1/responses instead",
    );
  });

  test("a need of the request that no provider serves, as the request words it", () => {
    const failure = new AppError("invalid_body", "No provider keeps responses.");
    for (const [given, message] of [
      [{ failure }, failure.message],
      [{}, 'model "m" is not available'],
    ] as const)
      expect(errorOf(() => chosen([GOOD], { needs: { serves: () => false, ...given } })).message).toContain(
        message,
      );
    expect(chosen([GOOD], { needs: { serves: () => true, failure } }).candidates).toEqual([GOOD]);
  });

  test("evidence that no provider has: the attestation, where none is attested", () => {
    const given = (standing: EvidenceStanding): Partial<ChoiceContext> => ({
      preferences: { evidence: "attested" },
      standingOf: () => standing,
    });
    const messageFor = (standing: EvidenceStanding) =>
      errorOf(() => chosen([GOOD, offer(1)], given(standing)));
    expect(messageFor({ isBound: true, isAttested: false })).toMatchObject({
      code: "no_provider_with_evidence",
      message: "No provider of this model is attested.",
    });
    expect(messageFor({ isBound: false, isAttested: true }).message).toContain("recently signed");
  });

  test("a trust mode that no provider has: the preference, otherwise that of the key", () => {
    const standard = offer(1, { verifiability: "" });
    const messageFor = (given: Partial<ChoiceContext>) => errorOf(() => chosen([standard], given)).message;
    const restrictions = { ...UNRESTRICTED, trustMode: "verified" } as const;
    expect(messageFor({ preferences: { trustMode: "private" }, restrictions })).toContain("private");
    expect(messageFor({ restrictions })).toContain("verified");
  });
});

describe("the context of a model", () => {
  const sized = (n: number, contextLength?: number) =>
    offer(n, { profile: { formats: ["openai"], contextLength } });
  const numbers = (offers: readonly Provider[], given: Partial<ChoiceContext>) =>
    chosen(offers, given).candidates.map(({ inputPrice }) => Number(inputPrice));

  test("excludes an offer only where the prompt is clearly too long: a quarter more than estimated is still tried", () => {
    const offers = [sized(1, 1_000), sized(2)];
    expect(numbers(offers, { inputTokens: 1_250 })).toEqual([1, 2]);
    expect(numbers(offers, { inputTokens: 1_251 })).toEqual([2]);
    expect(numbers(offers, { inputTokens: 1_125, answerTokens: 100 })).toEqual([1, 2]);
    expect(numbers(offers, { inputTokens: 1_125, answerTokens: 101 })).toEqual([2]);
  });

  test("excludes none where all are too short, as an attempt is better than a refusal", () => {
    const choice = chosen([sized(1, 10), sized(2, 20)], { inputTokens: 10_000 });
    expect(choice.candidates).toHaveLength(2);
    expect(choice.refused).toEqual([]);
  });

  test("gives the longest a place where the first three may be too short, and only then", () => {
    const offers = [sized(1, 3_999), sized(2, 3_999), sized(3, 3_999), sized(4, 6_000), sized(5, 9_000)];
    expect(numbers(offers, { inputTokens: 1_000 })).toEqual([1, 2, 5]);
    // Of several that are equally long, the cheapest.
    const longest = [...offers.slice(0, 3), sized(4, 9_000), sized(5, 9_000), sized(6, 4_000), sized(7)];
    expect(numbers(longest, { inputTokens: 1_000 })).toEqual([1, 2, 4]);
    expect(numbers(offers, { inputTokens: 899, answerTokens: 400 })).toEqual([1, 2, 3]);
    expect(numbers(offers, { inputTokens: 900, answerTokens: 400 })).toEqual([1, 2, 5]);
    for (const length of [4_000, undefined])
      expect(numbers(offers.with(1, sized(2, length)), { inputTokens: 1_000 })).toEqual([1, 2, 3]);
    const third = offers.with(2, sized(3, 3_999)).slice(0, 3);
    expect(numbers([...third, sized(4, 100)], { inputTokens: 1_000, answerTokens: 1 })).toEqual([1, 2, 3]);
    expect(numbers(offers.slice(0, 3), { inputTokens: 1_000 })).toEqual([1, 2, 3]);
  });

  test("gives the longest no place where the client allows one provider", () => {
    const offers = [sized(1, 3_999), sized(2, 3_999), sized(3, 3_999), sized(4, 9_000)];
    expect(numbers(offers, { inputTokens: 1_000, preferences: { allowFallbacks: false } })).toEqual([1]);
  });
});

describe("images", () => {
  const image = (n: number, fields: Partial<Provider> = {}) =>
    offer(n, { serviceType: "text-to-image", ...fields });

  test.each(["text-to-image", "image-editing"] as const)(
    "of the kind %s are capped by their price each",
    (kind) => {
      const offers = [image(4, { serviceType: kind }), image(5, { serviceType: kind })];
      // One dollar per network token: 4 neuron are 4 * 10^-18 dollars.
      const choice = chosen(offers, {
        serviceType: kind,
        preferences: { caps: { image: 4n, prompt: 0n, completion: 0n } },
        tokenUsd: 10n ** 18n,
      });
      expect(addresses(choice)).toEqual([addressOf(4)]);
    },
  );

  test("are ranked by the price of one image", () => {
    const offers = [
      image(1, { inputPrice: 0n, outputPrice: 9n }),
      image(2, { inputPrice: 50n, outputPrice: 3n }),
    ];
    expect(addresses(chosen(offers, { serviceType: "text-to-image" }))).toEqual([addressOf(2), addressOf(1)]);
  });

  test("are not capped by prices of tokens, nor chats by the price of an image", () => {
    expect(chosen([GOOD], caps({ image: 0n })).candidates).toHaveLength(1);
  });
});

describe("of offers at one price", () => {
  const same = (n: number, fields: Partial<Provider> = {}) =>
    offer(n, { inputPrice: 1n, outputPrice: 1n, ...fields });
  const order = (offers: readonly Provider[], states: Record<number, object>, given = {}) =>
    chosen(
      offers,
      given,
      new Map(Object.entries(states).map(([n, state]) => [addressOf(Number(n)), { ...IDLE, ...state }])),
    ).candidates.map(({ address }) => Number(address));

  test("the least busy is first, then the fastest, then the one with the lowest address", () => {
    const three = [same(3), same(2), same(1)];
    expect(order(three, { 1: { inFlight: 1 } })).toEqual([2, 3, 1]);
    expect(order(three, { 1: { latencyMs: 5 }, 2: { latencyMs: 9 } })).toEqual([3, 1, 2]);
    expect(order(three, { 1: { latencyMs: 500 }, 2: { inFlight: 1 } })).toEqual([3, 1, 2]);
    expect(order(three, {})).toEqual([1, 2, 3]);
  });

  test("latency decides before the price only where the client sorts by it", () => {
    const offers = [offer(3), offer(2), offer(1)];
    const states = { 1: { latencyMs: 50 }, 2: { latencyMs: 20 }, 3: { latencyMs: 20 } };
    expect(order(offers, states)).toEqual([1, 2, 3]);
    expect(order(offers, states, { preferences: { sort: "price" } })).toEqual([1, 2, 3]);
    expect(order(offers, states, { preferences: { sort: "latency" } })).toEqual([2, 3, 1]);
  });

  test("those with an open circuit are the last resort, in the order of preference", () => {
    const open = ([1, 2, 3] as const).map((n) => [addressOf(n), { ...IDLE, circuit: "open" }] as const);
    const choice = chosen([offer(3), offer(9), offer(1), offer(2)], {}, new Map(open));
    expect(addresses(choice)).toEqual([9, 1, 2].map(addressOf));
    expect(choice.refused).toEqual([{ provider: addressOf(3), reason: "circuit_open" }]);
  });

  test("a half-open circuit is used, one that is open only after it, and a pause is kept", () => {
    const offers = [same(1), same(2), same(3)];
    const states = { 1: { circuit: "open" }, 2: { circuit: "half-open" }, 3: { isResting: true } };
    expect(order(offers, states)).toEqual([2, 1]);
  });
});
