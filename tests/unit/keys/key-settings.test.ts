import { describe, expect, test } from "vitest";
import { AppError } from "../../../src/kernel/errors.ts";
import { checkKeySettings } from "../../../src/keys/api-keys/check-key-settings.ts";
import type { KeySettings } from "../../../src/keys/api-keys/key-settings.ts";

const NOW = new Date("2026-05-01T12:00:00.000Z");
const later = (ms: number) => new Date(NOW.getTime() + ms);
const address = (n: number) => `0x${n.toString(16).padStart(40, "0")}`;

const checked = (settings: Partial<KeySettings>) => checkKeySettings(settings, NOW);

const LIMITS = {
  max_input_tokens: "maxInputTokens",
  max_input_bytes: "maxInputBytes",
  max_output_tokens: "maxOutputTokens",
} as const;

/** The field that is refused; undefined if the settings are accepted. */
function refusedField(settings: Partial<KeySettings>): string | null | undefined {
  try {
    checked(settings);
  } catch (error) {
    if (error instanceof AppError && error.code === "invalid_parameter") return error.param;
    throw error;
  }
  return undefined;
}

describe("the settings of a key", () => {
  test("are stored as given, whole", () => {
    const settings: KeySettings = {
      name: "build",
      expiresAt: later(1),
      creditLimit: 5n,
      resetPeriod: "daily",
      allowedModels: ["a/b", "c"],
      allowedProviders: [address(1)],
      trustMode: "private",
      providerEvidence: "attested",
      maxInputTokens: 1,
      maxInputBytes: 2 ** 31 - 1,
      maxOutputTokens: 100,
      allowedTools: ["search", "lookup.city"],
      blockedParameters: ["logprobs", "image[]"],
      verifyTee: true,
    };
    expect(checked(settings)).toStrictEqual(settings);
  });

  test("stay unchanged where they are absent, and null removes a limit", () => {
    expect(checked({})).toStrictEqual({});
    const none = {
      expiresAt: null,
      creditLimit: null,
      trustMode: null,
      providerEvidence: null,
      allowedModels: [],
      allowedProviders: [],
    };
    expect(checked(none)).toStrictEqual(none);
  });

  test("list each model and provider once, providers in lower case", () => {
    const upper = `0x${"AB".repeat(20)}`;
    expect(checked({ allowedModels: ["b", "a", "b"] })).toStrictEqual({ allowedModels: ["b", "a"] });
    expect(checked({ allowedProviders: [upper, upper.toLowerCase(), address(1)] })).toStrictEqual({
      allowedProviders: [`0x${"ab".repeat(20)}`, address(1)],
    });
  });

  test("list each tool and parameter once", () => {
    expect(checked({ allowedTools: ["b", "a", "b"], blockedParameters: ["y", "x", "y"] })).toStrictEqual({
      allowedTools: ["b", "a"],
      blockedParameters: ["y", "x"],
    });
  });

  test("have a trimmed name", () => {
    expect(checked({ name: "  build " })).toStrictEqual({ name: "build" });
    expect(refusedField({ name: " " })).toBe("name");
  });
});

test.each<[string, Partial<KeySettings>]>([
  ["expires_at", { expiresAt: NOW }],
  ["expires_at", { expiresAt: later(-1) }],
  ["expires_at", { expiresAt: new Date("+010000-01-01T00:00:00.000Z") }],
  ["expires_at", { expiresAt: new Date(Number.NaN) }],
  ["credit_limit", { creditLimit: -1n }],
  ["credit_limit", { creditLimit: 2n ** 256n }],
  ["allowed_models", { allowedModels: [""] }],
  ["allowed_models", { allowedModels: ["a".repeat(257)] }],
  ["allowed_models", { allowedModels: ["fine", "a\nb"] }],
  ["allowed_models", { allowedModels: ["a\u0000"] }],
  ["allowed_models", { allowedModels: Array.from({ length: 101 }, (_, n) => `m${n}`) }],
  ["allowed_models", { allowedModels: Array.from({ length: 101 }, () => "m") }],
  ["allowed_providers", { allowedProviders: ["0x12"] }],
  ["allowed_providers", { allowedProviders: [address(1), `${address(2)} `] }],
  ["allowed_providers", { allowedProviders: Array.from({ length: 101 }, (_, n) => address(n)) }],
  ...(["max_input_tokens", "max_input_bytes", "max_output_tokens"] as const).flatMap((param) =>
    [0, -1, 1.5, 2 ** 31, Number.NaN].map((limit): [string, Partial<KeySettings>] => [
      param,
      { [LIMITS[param]]: limit },
    ]),
  ),
  ...["", "a".repeat(129), "a\nb", "\ud800"].map((tool): [string, Partial<KeySettings>] => [
    "allowed_tools",
    { allowedTools: ["fine", tool] },
  ]),
  ["allowed_tools", { allowedTools: Array.from({ length: 101 }, (_, n) => `t${n}`) }],
  ...["", "a".repeat(65), "1a", "a b", "a[", "a[]b", "a[][]"].map((name): [string, Partial<KeySettings>] => [
    "blocked_parameters",
    { blockedParameters: ["fine", name] },
  ]),
  ["blocked_parameters", { blockedParameters: Array.from({ length: 101 }, (_, n) => `p${n}`) }],
])("an invalid value is refused by the name of its field: %s", (field, settings) => {
  expect(refusedField(settings)).toBe(field);
});

test.each<Partial<KeySettings>>([
  { expiresAt: later(1) },
  { expiresAt: new Date("9999-12-31T23:59:59.999Z") },
  { creditLimit: 0n },
  { creditLimit: 2n ** 256n - 1n },
  { allowedModels: ["a"] },
  { allowedModels: ["a".repeat(256)] },
  { allowedModels: Array.from({ length: 100 }, (_, n) => `m${n}`) },
  { allowedProviders: Array.from({ length: 100 }, (_, n) => address(n)) },
  { maxInputTokens: null, maxInputBytes: null, maxOutputTokens: null },
  { maxInputTokens: 1, maxInputBytes: 1, maxOutputTokens: 1 },
  { maxInputTokens: 2 ** 31 - 1, maxInputBytes: 2 ** 31 - 1, maxOutputTokens: 2 ** 31 - 1 },
  { allowedTools: ["a".repeat(128), "ein Wort"] },
  { blockedParameters: ["a".repeat(64), "_a-1", "image[]"] },
  { verifyTee: false },
])("a value at its limit is accepted: %#", (settings) => {
  expect(checked(settings)).toStrictEqual(settings);
});

test.each<[Partial<KeySettings>, string]>([
  [{ expiresAt: NOW }, "A key must expire in the future, and before the year 10000."],
  [{ creditLimit: -1n }, "A credit limit must be from 0 to 2^256 - 1 neuron."],
  [{ maxInputBytes: 0 }, "The limit must be an integer from 1 to 2147483647."],
  [{ allowedTools: [""] }, "The name of a tool must have 1 to 128 printable characters."],
  [
    { blockedParameters: ["a b"] },
    "A parameter must be the name of a field of the body, of at most 64 characters.",
  ],
  [{ allowedModels: [""] }, "A model id must have 1 to 256 printable characters."],
  [{ allowedProviders: ["0x12"] }, "A provider must be an address."],
  [{ allowedModels: Array(101).fill("m") }, "The list can have at most 100 items."],
])("the refusal of a value says what would be accepted: %#", (settings, message) => {
  expect(() => checked(settings)).toThrow(message);
});
