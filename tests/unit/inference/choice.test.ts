import fc from "fast-check";
import { expect, test } from "vitest";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import type { Choice } from "../../../src/inference/routing/choice.ts";
import { type RoutingPreferences, readUsd } from "../../../src/inference/routing/routing-preferences.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { UNRESTRICTED } from "../../../src/keys/api-keys/key-settings.ts";
import { readRouting } from "../../../src/rest/routing-headers.ts";
import { addresses, addressOf, chosen, IDLE, offer } from "../../support/inference/offers.ts";

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
  return "";
}

const [ONE, TWO, THREE, FOUR] = [1, 2, 3, 4].map((n) => offer(n)) as [Provider, Provider, Provider, Provider];

const state = fc.record({
  circuit: fc.constantFrom("closed" as const, "open" as const, "half-open" as const),
  isResting: fc.boolean(),
  latencyMs: fc.option(fc.nat(5_000), { nil: undefined }),
  tokensPerSecond: fc.option(fc.nat(500), { nil: undefined }),
  inFlight: fc.nat(50),
});
const someOffer = fc.record({
  inputPrice: fc.bigInt(0n, 10n ** 12n),
  outputPrice: fc.bigInt(0n, 10n ** 12n),
  verifiability: fc.constantFrom("", "TeeML"),
  // Most offers are eligible, so that most choices are among several.
  teeAcknowledged: fc.constantFrom(true, true, true, true, false),
  isCentralized: fc.boolean(),
  unroutable: fc.constantFrom(undefined, undefined, undefined, undefined, "not https"),
});
const cap = fc.option(fc.bigInt(0n, 10n ** 16n), { nil: undefined });
const preferences: fc.Arbitrary<RoutingPreferences> = fc.record({
  sort: fc.constantFrom(undefined, "latency" as const, "price" as const),
  pin: fc.option(fc.integer({ min: 1, max: 7 }).map(addressOf), { nil: undefined, freq: 4 }),
  allowFallbacks: fc.constantFrom(undefined, true, false),
  trustMode: fc.constantFrom(undefined, "verified" as const, "private" as const),
  caps: fc.option(fc.record({ prompt: cap, completion: cap }), { nil: undefined }),
});

test("for any offers, states and preferences, only permitted providers are tried, in the requested order, and every other one has a single reason", () => {
  const tokenUsd = readUsd("0.25") ?? 0n;
  fc.assert(
    fc.property(
      fc.array(fc.tuple(someOffer, state), { minLength: 1, maxLength: 6 }),
      preferences,
      fc.record({ inputTokens: fc.nat(100_000), outputTokens: fc.nat(100_000) }),
      (given, wished, size) => {
        const offers = given.map(([fields], n) => offer(n + 1, fields));
        const states = new Map(given.map(([, known], n) => [addressOf(n + 1) as string, known]));
        let choice: Choice;
        try {
          choice = chosen(offers, { preferences: wished, tokenUsd, ...size }, states);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
          return;
        }
        const asked = addresses(choice);
        expect(asked.length).toBeGreaterThanOrEqual(1);
        expect(asked.length).toBeLessThanOrEqual(wished.pin || wished.allowFallbacks === false ? 1 : 3);
        const all = [...asked, ...choice.refused.map(({ provider }) => provider)];
        expect(all.toSorted()).toEqual(offers.map(({ address }) => address).toSorted());
        for (const {
          address,
          teeAcknowledged,
          unroutable,
          verifiability,
          isCentralized,
          ...price
        } of choice.candidates) {
          expect([teeAcknowledged, unroutable]).toEqual([true, undefined]);
          if (wished.pin) expect(address).toBe(wished.pin);
          if (wished.trustMode) expect(verifiability).not.toBe("");
          if (wished.trustMode === "private") expect(isCentralized).toBe(false);
          const dollars = (neuron: bigint) => neuron * 1_000_000n * tokenUsd;
          const { prompt, completion } = wished.caps ?? {};
          if (prompt !== undefined)
            expect(dollars(price.inputPrice)).toBeLessThanOrEqual(prompt * 10n ** 18n);
          if (completion !== undefined)
            expect(dollars(price.outputPrice)).toBeLessThanOrEqual(completion * 10n ** 18n);
        }
        const isHealthy = ({ address }: Provider) =>
          states.get(address)?.circuit !== "open" && !states.get(address)?.isResting;
        const healthy = choice.candidates.filter(isHealthy);
        const others = choice.candidates.filter((candidate) => !isHealthy(candidate));
        // Beside a healthy one, those with an open circuit are the last resort, and resting ones are not tried.
        expect(choice.candidates).toEqual([...healthy, ...others]);
        if (healthy.length > 0)
          for (const { address } of others) expect(states.get(address)?.isResting).toBe(false);
        const costOf = ({ inputPrice, outputPrice }: Provider) =>
          BigInt(size.inputTokens) * inputPrice + BigInt(size.outputTokens) * outputPrice;
        const key = (candidate: Provider) =>
          wished.sort === "latency"
            ? BigInt(states.get(candidate.address)?.latencyMs ?? 0)
            : costOf(candidate);
        for (const part of [healthy, others]) {
          const keys = part.map(key);
          expect(keys).toEqual(keys.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
        }
      },
    ),
    { numRuns: 1_000 },
  );
});

test("at most three providers are tried, one with a pin or without fallbacks, and the others carry the reason", () => {
  const offers = [FOUR, TWO, ONE, THREE];
  expect(addresses(chosen(offers))).toEqual([1, 2, 3].map(addressOf));
  expect(chosen(offers).refused).toEqual([{ provider: FOUR.address, reason: "enough_candidates" }]);
  const alone = chosen(offers, { preferences: { allowFallbacks: false } });
  expect(addresses(alone)).toEqual([ONE.address]);
  expect(new Set(alone.refused.map(({ reason }) => reason))).toEqual(new Set(["fallbacks_off"]));
  const pinned = chosen(offers, { preferences: { pin: THREE.address } });
  expect(addresses(pinned)).toEqual([THREE.address]);
  expect(new Set(pinned.refused.map(({ reason }) => reason))).toEqual(new Set(["not_pinned"]));
});

test("the first offer is the cheapest for this prompt and this answer, by the prices and tiers of each", () => {
  const offers = [
    offer(1, { inputPrice: 1n, outputPrice: 100n }),
    offer(2, { inputPrice: 20n, outputPrice: 5n }),
    offer(3, {
      inputPrice: 50n,
      outputPrice: 50n,
      tiers: [{ maxInputTokens: 1_000, inputPrice: 2n, outputPrice: 2n }],
    }),
  ];
  for (const sort of [undefined, "price"] as const) {
    const first = (inputTokens: number, outputTokens: number) =>
      addresses(chosen(offers, { inputTokens, outputTokens, ...(sort && { preferences: { sort } }) }))[0];
    expect(first(100_000, 10)).toBe(addressOf(1));
    expect(first(2_000, 4_000)).toBe(addressOf(2));
    expect(first(1_000, 4_000)).toBe(addressOf(3));
  }
});

test("a provider with an open circuit or in backoff is tried only when no other is left", () => {
  const open = new Map([[ONE.address as string, { ...IDLE, circuit: "open" as const }]]);
  expect(addresses(chosen([ONE, TWO], {}, open))).toEqual([TWO.address, ONE.address]);
  expect(chosen([ONE, TWO], {}, open).refused).toEqual([]);
  expect(addresses(chosen([ONE], {}, open))).toEqual([ONE.address]);
  const alone = chosen([ONE, TWO], { preferences: { allowFallbacks: false } }, open);
  expect(addresses(alone)).toEqual([TWO.address]);
  expect(alone.refused).toEqual([{ provider: ONE.address, reason: "circuit_open" }]);
  const four = [ONE, TWO, THREE, offer(4, { inputPrice: 9n, outputPrice: 9n })];
  expect(chosen(four, {}, open).refused).toEqual([{ provider: ONE.address, reason: "circuit_open" }]);
  const resting = new Map([[ONE.address as string, { ...IDLE, isResting: true }]]);
  expect(chosen([ONE, TWO], {}, resting).refused).toEqual([{ provider: ONE.address, reason: "resting" }]);
});

test("sorting by latency puts the fastest first, after any provider without a recent measurement", () => {
  const states = new Map([
    [ONE.address as string, { ...IDLE, latencyMs: 900 }],
    [TWO.address as string, { ...IDLE, latencyMs: 100 }],
  ]);
  expect(addresses(chosen([ONE, TWO, THREE], { preferences: { sort: "latency" } }, states))).toEqual(
    [3, 2, 1].map(addressOf),
  );
});

test("among offers of equal price the least busy is tried first", () => {
  const equal = [
    offer(1, { inputPrice: 1n, outputPrice: 1n }),
    offer(2, { inputPrice: 1n, outputPrice: 1n }),
  ];
  const busy = new Map([[addressOf(1) as string, { ...IDLE, inFlight: 5 }]]);
  expect(addresses(chosen(equal, {}, busy))).toEqual([addressOf(2), addressOf(1)]);
});

test.each<[string, () => unknown]>([
  ["model_not_found", () => chosen([])],
  ["model_not_found", () => chosen([offer(1, { serviceType: "text-to-image" })])],
  ["access_denied", () => chosen([ONE], { restrictions: { ...UNRESTRICTED, models: ["other"] } })],
  ["access_denied", () => chosen([ONE], { restrictions: { ...UNRESTRICTED, providers: [TWO.address] } })],
  ["provider_not_found", () => chosen([ONE], { preferences: { pin: TWO.address } })],
  [
    "provider_model_mismatch",
    () => chosen([ONE], { preferences: { pin: TWO.address }, isKnown: () => true }),
  ],
  ["invalid_body", () => chosen([ONE], { format: "anthropic" })],
  ["no_available_provider", () => chosen([offer(1, { unroutable: "not https" })])],
  ["no_available_provider", () => chosen([offer(1, { teeAcknowledged: false })])],
  [
    "no_provider_for_trust_mode",
    () => chosen([offer(1, { isCentralized: true })], { preferences: { trustMode: "private" } }),
  ],
  [
    "no_provider_for_trust_mode",
    () =>
      chosen([offer(1, { verifiability: "" })], { restrictions: { ...UNRESTRICTED, trustMode: "verified" } }),
  ],
  ["invalid_max_price_usd", () => chosen([ONE], { preferences: { caps: { prompt: 1n } } })],
  [
    "no_provider_within_max_price",
    () => chosen([ONE], { preferences: { caps: { prompt: 0n } }, tokenUsd: 1n }),
  ],
  [
    "pinned_provider_exceeds_max_price",
    () => chosen([ONE], { preferences: { pin: ONE.address, caps: { prompt: 0n } }, tokenUsd: 1n }),
  ],
])("when no provider is left, the reason is %s", (code, run) => {
  expect(codeOf(run)).toBe(code);
});

test("the failure for a trust mode names the stricter one of the client's and the key's", () => {
  const verified = [offer(1, { isCentralized: true })];
  for (const [client, key] of [
    ["verified", "private"],
    ["private", "verified"],
    [undefined, "private"],
  ] as const)
    expect(() =>
      chosen(verified, {
        preferences: { trustMode: client },
        restrictions: { ...UNRESTRICTED, trustMode: key },
      }),
    ).toThrow("the required trust mode, private.");
});

test("prices are compared to the last digit: a price equal to the cap is within it, one neuron more is not", () => {
  // At 0.25 USD per token of 10^18 neuron, 4 * 10^12 neuron per inference token make a million of them 4
  // tokens: 1 USD.
  const exact = offer(1, { inputPrice: 4n * 10n ** 12n });
  const dearer = offer(2, { inputPrice: 4n * 10n ** 12n + 1n });
  const given = { preferences: { caps: { prompt: readUsd("1") } }, tokenUsd: readUsd("0.25") };
  expect(addresses(chosen([exact, dearer], given))).toEqual([exact.address]);
});

test("routing headers are read under every spelling, in any case, and the last value of each wins", () => {
  const words = ["0G", "Platform"];
  const pin = "0xABCDEF0123456789abcdef0123456789ABCDEF01";
  expect(
    readRouting(
      [
        "X-0G-Provider-Sort",
        "latency",
        "x-platform-provider-address",
        pin,
        "Host",
        "x",
        "x-0g-provider-trust-mode",
        "verified",
      ],
      words,
    ),
  ).toEqual({ sort: "latency", pin: pin.toLowerCase(), trustMode: "verified" });
  expect(readRouting(["X-Platform-Provider-Allow-Fallbacks", "false"], words)).toEqual({
    allowFallbacks: false,
  });
  expect(readRouting(["X-Platform-Provider-Max-Price-Usd-Image", "0.000000000000000001"], words)).toEqual({
    caps: { image: 1n },
  });
  for (const unknown of [
    "X-Other-Provider-Sort",
    "X-0G_Provider-Sort",
    "X-0G-Provider-Sorts",
    "X-Provider-Sort",
  ])
    expect(readRouting([unknown, "nonsense"], words)).toEqual({});
});

test.each([
  ["Sort", "cheapest"],
  ["Sort", "Price"],
  ["Sort", ""],
  ["Address", "0x12"],
  ["Address", `0x${"g".repeat(40)}`],
  ["Address", "vitalik.eth"],
  ["Trust-Mode", "standard"],
  ["Trust-Mode", "PRIVATE"],
  ["Allow-Fallbacks", "yes"],
])("the header %s: %s is 400 invalid_provider_header", (control, value) => {
  expect(codeOf(() => readRouting([`X-0G-Provider-${control}`, value], ["0G"]))).toBe(
    "invalid_provider_header",
  );
});

const PRICES = [
  "NaN",
  "Infinity",
  "-1",
  "+1",
  "1e400",
  "1e2",
  "0x10",
  "1,5",
  " ",
  "",
  "٣",
  "1".repeat(400),
  "1234567890123",
  "01",
  ".5",
  "1.",
  "1.0000000000000000001",
  "$1",
  "1 2",
  "null",
];
test.each(PRICES)("the price %j is 400 invalid_max_price_usd", (value) => {
  for (const kind of ["Prompt", "Completion", "Image"])
    expect(
      codeOf(() => readRouting([`X-Platform-Provider-Max-Price-Usd-${kind}`, value], ["Platform"])),
    ).toBe("invalid_max_price_usd");
});

test("a control that is sent twice is refused, under one spelling or two", () => {
  const twice = (a: string, b: string) =>
    codeOf(() => readRouting([a, "price", b, "price"], ["0G", "Platform"]));
  expect(twice("X-0G-Provider-Sort", "x-0g-provider-sort")).toBe("invalid_provider_header");
  expect(twice("X-0G-Provider-Sort", "X-Platform-Provider-Sort")).toBe("invalid_provider_header");
  expect(
    codeOf(() =>
      readRouting(
        ["X-0G-Provider-Max-Price-Usd-Prompt", "1", "X-Platform-Provider-Max-Price-Usd-Prompt", "1"],
        ["0G", "Platform"],
      ),
    ),
  ).toBe("invalid_max_price_usd");
});

test("a decimal is read to its last digit, and no malformed one is accepted", () => {
  const digits = fc.bigInt(0n, 10n ** 12n - 1n);
  fc.assert(
    fc.property(
      digits,
      fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 18 }),
      (whole, part) => {
        expect(readUsd(`${whole}.${part}`)).toBe(whole * 10n ** 18n + BigInt(part.padEnd(18, "0")));
        expect(readUsd(String(whole))).toBe(whole * 10n ** 18n);
      },
    ),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      const read = readUsd(text);
      if (read !== undefined) expect(text).toMatch(/^\d{1,12}(\.\d{1,18})?$/);
    }),
  );
});

test("prices with tiers are ranked and capped at the tier for a prompt of this length", () => {
  const tiers = [{ maxInputTokens: 100, inputPrice: 1n, outputPrice: 1n }];
  const offers = [offer(5), offer(9, { tiers })];
  const ranked = (inputTokens: number) =>
    chosen(offers, { inputTokens }).candidates.map(({ address }) => address);
  expect(ranked(100)).toEqual([addressOf(9), addressOf(5)]);
  expect(ranked(101)).toEqual([addressOf(5), addressOf(9)]);
  // At 10^12 dollars per network token, one neuron per token is one dollar per million.
  const [tokenUsd, prompt] = [10n ** 30n, 2n * 10n ** 18n];
  const capped = (inputTokens: number) =>
    chosen(offers, { inputTokens, tokenUsd, preferences: { caps: { prompt } } });
  expect(capped(100).candidates).toHaveLength(1);
  expect(codeOf(() => capped(101))).toBe("no_provider_within_max_price");
});
