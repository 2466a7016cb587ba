import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { costOf } from "../../../src/inference/billing/pricing.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import type { Affinity } from "../../../src/inference/routing/ranking.ts";
import type { RoutingPreferences } from "../../../src/inference/routing/routing-preferences.ts";
import { addresses, addressOf, chosen, IDLE, offer } from "../../support/inference/offers.ts";

const RESTING = { ...IDLE, isResting: true };
const SIZE = { inputTokens: 1_000, outputTokens: 10 };

/** An offer that costs `price` a token, and `read` for one that it has cached. */
function caching(n: number, price: number, read: number): Provider {
  return offer(n, {
    inputPrice: BigInt(price),
    outputPrice: BigInt(price),
    cachePrice: { read: BigInt(read) },
  });
}

function conversation(number: number): string {
  return `conversation-${number}`;
}

function affinity(name = "a", warm?: { n: number; tokens: number }): () => Affinity {
  return () => ({
    conversation: name,
    warm: warm && { provider: addressOf(warm.n), tokens: warm.tokens },
  });
}

/** The first provider of each of 2,000 conversations. */
function firstOfMany(offers: readonly Provider[]): readonly string[] {
  return Array.from({ length: 2_000 }, (_, number) => {
    const [first = ""] = addresses(chosen(offers, { ...SIZE, affinity: affinity(conversation(number)) }));
    return first;
  });
}

describe("without a known cache", () => {
  const four = [1, 2, 3, 4].map((n) => caching(n, 10, 1));

  test("conversations spread evenly over equally expensive providers, in any order of the list", () => {
    const counts = new Map<string, number>();
    const first = firstOfMany(four);
    for (const address of first) counts.set(address, (counts.get(address) ?? 0) + 1);
    for (const { address } of four) expect(counts.get(address)).toBeGreaterThan(400);
    for (const { address } of four) expect(counts.get(address)).toBeLessThan(600);
    expect(firstOfMany(four.toReversed())).toEqual(first);
  });

  test("a provider that is left out moves its own conversations only", () => {
    const before = firstOfMany(four);
    const after = firstOfMany(four.slice(1));
    for (const [at, address] of before.entries())
      if (address !== four[0]?.address) expect(after[at]).toBe(address);
  });

  test("the cheapest provider comes first, then the one whose cached tokens cost least", () => {
    const offers = [caching(1, 10, 5), caching(2, 10, 2), caching(3, 9, 9), caching(4, 9, 8)];
    for (const order of [offers, offers.toReversed()])
      for (let number = 0; number < 20; number++) {
        const given = { ...SIZE, affinity: affinity(conversation(number)) };
        expect(addresses(chosen(order, given))).toEqual([4, 3, 2].map(addressOf));
      }
  });
});

test("a tier with its own price of cached tokens counts as well", () => {
  const tiers = [{ maxInputTokens: 10_000, inputPrice: 10n, outputPrice: 10n, cacheReadPrice: 1n }];
  const offers = [1, 2].map((n) => offer(n, { inputPrice: 10n, outputPrice: 10n, tiers }));
  const given = { ...SIZE, affinity: affinity("mine") };
  expect(chosen(offers, given)).toHaveProperty("affinity");
  const beyond = offers.map((one) => ({ ...one, tiers: tiers.map(({ cacheReadPrice, ...tier }) => tier) }));
  expect(chosen(beyond, given)).not.toHaveProperty("affinity");
});

test("the choice says by which conversation it was made, and says nothing where none decided", () => {
  const offers = [caching(1, 10, 1), caching(2, 10, 1)];
  expect(chosen(offers, { ...SIZE, affinity: affinity("mine") }).affinity).toEqual(affinity("mine")());
  expect(chosen(offers, SIZE)).not.toHaveProperty("affinity");
  expect(chosen(offers.slice(1), { ...SIZE, affinity: affinity("mine") })).not.toHaveProperty("affinity");
});

describe("a prompt with text that only its author can read", () => {
  const offers = [1, 2, 3].map((n) => offer(n, { inputPrice: BigInt(n), outputPrice: BigInt(n) }));
  const given = (encrypted: "in_prompt" | "in_answer" | undefined, warm?: number) => ({
    ...SIZE,
    needs: { serves: () => true, encrypted },
    affinity: affinity("a", warm === undefined ? undefined : { n: warm, tokens: 0 }),
  });

  test("goes first to the provider that answered last, though it costs more and no cache is cheaper", () => {
    expect(addresses(chosen(offers, given("in_prompt", 3)))).toEqual([3, 1, 2].map(addressOf));
    expect(addresses(chosen(offers, given("in_answer", 3)))).toEqual([1, 2, 3].map(addressOf));
    expect(addresses(chosen(offers, given("in_prompt")))).toEqual([1, 2, 3].map(addressOf));
  });

  test("overrides no preference of the client", () => {
    const wanted = { ...given("in_prompt", 3), preferences: { order: [addressOf(2)] } };
    expect(addresses(chosen(offers, wanted))[0]).toBe(addressOf(2));
  });

  test("is expected of an answer, whose provider is then remembered", () => {
    expect(chosen(offers, given("in_answer"))).toHaveProperty("affinity");
    expect(chosen(offers, given(undefined))).not.toHaveProperty("affinity");
  });
});

describe("with a known cache", () => {
  test("the provider that answered last comes first among equally expensive ones, though its cache is empty", () => {
    const offers = [1, 2, 3].map((n) => caching(n, 10, 1));
    for (let number = 0; number < 20; number++) {
      const given = { ...SIZE, affinity: affinity(conversation(number), { n: 2, tokens: 0 }) };
      expect(addresses(chosen(offers, given))[0]).toBe(addressOf(2));
    }
  });

  test("the provider that has it comes first while that is not more expensive than the best other one", () => {
    for (const [read, first] of [
      [1, 1],
      [5, 1],
      [8, 2],
    ] as const) {
      const offers = [caching(1, 10, read), caching(2, 8, 8)];
      const choice = chosen(offers, { ...SIZE, affinity: affinity("a", { n: 1, tokens: 900 }) });
      expect(addresses(choice)[0]).toBe(addressOf(first));
    }
  });

  test("a small part of a prompt that is cached does not outweigh a higher price", () => {
    const offers = [caching(1, 10, 1), caching(2, 8, 8)];
    const few = { ...SIZE, affinity: affinity("a", { n: 1, tokens: 100 }) };
    expect(addresses(chosen(offers, few))[0]).toBe(addressOf(2));
  });

  test("of equally expensive providers it is the one that answered last, whatever its load", () => {
    const offers = [caching(1, 10, 1), caching(2, 10, 1)];
    const busy = new Map([[addressOf(1) as string, { ...IDLE, inFlight: 50, latencyMs: 5_000 }]]);
    for (let number = 0; number < 50; number++) {
      const given = { ...SIZE, affinity: affinity(conversation(number), { n: 1, tokens: 1_000 }) };
      expect(addresses(chosen(offers, given, busy))[0]).toBe(addressOf(1));
    }
  });

  test("it is not used while it is not healthy", () => {
    const offers = [caching(1, 10, 1), caching(2, 11, 2)];
    const given = { ...SIZE, affinity: affinity("a", { n: 1, tokens: 1_000 }) };
    expect(addresses(chosen(offers, given, new Map([[addressOf(1), RESTING]])))).toEqual([addressOf(2)]);
  });
});

describe("nothing is asked about the conversation", () => {
  const asked = () => {
    throw new Error("asked about the conversation");
  };
  const two = [caching(1, 10, 1), caching(2, 10, 1)];
  test.each<[string, readonly Provider[], Partial<Parameters<typeof chosen>[1]>]>([
    ["if one provider may answer", [caching(1, 10, 1)], {}],
    ["if no provider charges less for cached tokens", [offer(1), offer(2), caching(3, 4, 4)], {}],
    ["if a provider is pinned", two, { preferences: { pin: addressOf(2) } }],
    ["if the client sorts", two, { preferences: { sort: "price" } }],
    ["if the client lists providers", two, { preferences: { order: [addressOf(2)] } }],
    [
      "if the request is not a chat",
      two.map((one) => ({ ...one, serviceType: "embedding" as const })),
      { serviceType: "embedding" },
    ],
  ])("%s", (_, offers, given) => {
    expect(chosen(offers, { ...SIZE, ...given, affinity: asked }).affinity).toBeUndefined();
  });
});

const someOffers = fc
  .array(fc.record({ price: fc.integer({ min: 1, max: 20 }), read: fc.integer({ min: 0, max: 25 }) }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((prices) => prices.map(({ price, read }, at) => caching(at + 1, price, read)));
const someStates = fc.array(
  fc.record({ circuit: fc.constantFrom("closed" as const, "open" as const), isResting: fc.boolean() }),
  { minLength: 6, maxLength: 6 },
);
const someAddress = fc.integer({ min: 1, max: 6 }).map(addressOf);
const someAddresses = fc.option(fc.uniqueArray(someAddress, { minLength: 1, maxLength: 3 }), {
  nil: undefined,
});
const somePreferences: fc.Arbitrary<RoutingPreferences> = fc.record({
  sort: fc.constantFrom(undefined, "price" as const, "latency" as const, "throughput" as const),
  pin: fc.option(someAddress, { nil: undefined, freq: 4 }),
  order: someAddresses,
  only: someAddresses,
  ignore: someAddresses,
});
const someWarm = fc.record({ n: fc.integer({ min: 1, max: 6 }), tokens: fc.nat(3_000) });

test("for any offers, states and preferences, a known cache lets through no other provider, and overrides no preference", () => {
  fc.assert(
    fc.property(someOffers, someStates, somePreferences, someWarm, (offers, health, preferences, warm) => {
      const states = new Map(health.map((state, at) => [addressOf(at + 1) as string, { ...IDLE, ...state }]));
      const run = (given: object) => {
        try {
          return chosen(offers, { ...SIZE, preferences, ...given }, states);
        } catch (error) {
          return String(error);
        }
      };
      const plain = run({});
      const sticky = run({ affinity: affinity("a", warm) });
      const { pin, sort, order } = preferences;
      if (typeof plain === "string" || typeof sticky === "string" || pin || sort || order) {
        expect(sticky).toEqual(plain);
        return;
      }
      const named = ({ candidates, refused }: typeof plain) =>
        [...candidates.map(({ address }) => address), ...refused.map(({ provider }) => provider)].sort();
      expect(named(sticky)).toEqual(named(plain));
      const unusable = ({ refused }: typeof plain) =>
        refused.filter(({ reason }) => reason !== "enough_candidates");
      expect(unusable(sticky)).toEqual(unusable(plain));
    }),
    { numRuns: 2_000 },
  );
});

test("for any offers, the first provider is one for which the request, with what it has cached, costs least", () => {
  fc.assert(
    fc.property(someOffers, someWarm, fc.string(), (offers, warm, name) => {
      const { candidates } = chosen(offers, { ...SIZE, affinity: affinity(name, warm) });
      const read = (one: Provider) =>
        one.address === addressOf(warm.n) ? Math.min(warm.tokens, SIZE.inputTokens) : 0;
      const costs = offers.map(
        (one) => costOf({ ...SIZE, cache: { read: read(one), write: 0, write1h: 0 } }, one).total,
      );
      const [first] = candidates;
      const cost = costs[offers.findIndex(({ address }) => address === first?.address)] ?? -1n;
      const canSave =
        offers.length > 1 && offers.some((one) => (one.cachePrice?.read ?? 0n) < one.inputPrice);
      if (canSave) for (const other of costs) expect(cost <= other).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
