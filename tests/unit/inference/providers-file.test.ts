import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isRoutable } from "../../../src/inference/providers/provider.ts";
import { FileProviders } from "../../../src/inference/providers/sources/provider-source.file.ts";
import { readProvidersFile } from "../../../src/inference/providers/sources/providers-file.ts";

const AT = new Date(1_700_000_000_000);
const chat = { id: "llama", pricing: { prompt: "10", completion: "20" } };
const server = { name: "local", url: "http://127.0.0.1:11434/v1/", models: [chat] };
const read = (...providers: object[]) => readProvidersFile(JSON.stringify({ providers }), AT);

test("an offer of the file is treated like any other, at a stable address", () => {
  const [{ keyVariable, offers }] = read({
    ...server,
    api_key_env: "LOCAL_KEY",
    models: [
      {
        ...chat,
        upstream_id: "llama3:8b",
        supported_formats: ["openai", "anthropic"],
        context_length: 8_192,
      },
    ],
  }) as [ReturnType<typeof read>[number]];
  expect(keyVariable).toBe("LOCAL_KEY");
  expect(offers).toMatchObject([
    {
      source: "file",
      url: "http://127.0.0.1:11434/v1",
      model: "llama",
      upstreamModel: "llama3:8b",
      serviceType: "chatbot",
      inputPrice: 10n,
      outputPrice: 20n,
      updatedAt: AT,
      profile: { formats: ["openai", "anthropic"], contextLength: 8_192, providerName: "local" },
    },
  ]);
  expect(offers[0]?.address).toMatch(/^0x[0-9a-f]{40}$/);
  expect(offers[0]?.address).toBe(read(server)[0]?.offers[0]?.address);
  expect(offers.every(isRoutable)).toBe(true);
});

test("the price of a chat offer may include cached tokens and longer prompts", () => {
  const tiers = [
    { max_input_tokens: 100, prompt: "2", completion: "3", cached_prompt: "0" },
    { max_input_tokens: 200, prompt: "5", completion: "7" },
  ];
  const pricing = { ...chat.pricing, cached_prompt: "1", cache_write_1h: "20", tiered_pricing: tiers };
  expect(read({ ...server, models: [{ ...chat, pricing }] })[0]?.offers[0]).toMatchObject({
    inputPrice: 10n,
    cachePrice: { read: 1n, write: undefined, write1h: 20n },
    tiers: [
      { maxInputTokens: 100, inputPrice: 2n, outputPrice: 3n, cacheReadPrice: 0n },
      { maxInputTokens: 200, inputPrice: 5n, outputPrice: 7n, cacheReadPrice: undefined },
    ],
  });
  const refused = (wrong: object) => () => read({ ...server, models: [{ ...chat, pricing: wrong }] });
  expect(refused({ ...pricing, tiered_pricing: tiers.toReversed() })).toThrow(/longer than the one before/);
  expect(refused({ ...pricing, tiered_pricing: [] })).toThrow(/tiered_pricing/);
  expect(refused({ ...pricing, cached_prompt: 1 })).toThrow(/cached_prompt/);
  const image = { id: "paint", service_type: "text-to-image", pricing: { image: "7", cached_prompt: "1" } };
  expect(() => read({ ...server, models: [image] })).toThrow(/must have exactly image/);
});

test("images are priced per image, audio per second", () => {
  const models = [
    { id: "paint", service_type: "text-to-image", pricing: { image: "7" } },
    { id: "hear", service_type: "speech-to-text", pricing: { second: "3" } },
  ];
  const prices = read({ ...server, models })[0]?.offers.map(({ inputPrice, outputPrice }) => [
    inputPrice,
    outputPrice,
  ]);
  expect(prices).toEqual([
    [0n, 7n],
    [0n, 3n],
  ]);
});

test.each([
  ["http://user:s3cret@127.0.0.1/v1", "credentials in the URL"],
  ["http://s3cret@127.0.0.1/v1", "credentials in the URL"],
  ["http://:s3cret@127.0.0.1/v1", "credentials in the URL"],
  ["https://example.com/v1?key=s3cret", "a query or fragment in the URL"],
  ["https://example.com/v1#s3cret", "a query or fragment in the URL"],
  ["https://example.com/v1?", "a query or fragment in the URL"],
  ["https://example.com/v1#", "a query or fragment in the URL"],
  ["s3cret:127.0.0.1", "another scheme than http and https"],
  ["s3cret", "not a URL"],
])("the URL %j is refused with the reason, which does not repeat it", (url, reason) => {
  const file = JSON.stringify({ providers: [{ ...server, url }] });
  const message = messageOf(() => readProvidersFile(file, AT));
  expect(message).toBe(`providers.0.url: this URL cannot be used: ${reason}`);
});

test.each([
  ["http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"],
  ["https://example.com/%40/v1", "https://example.com/%40/v1"],
])("the URL %j is used as %j", (url, used) => {
  expect(read({ ...server, url })[0]?.offers[0]?.url).toBe(used);
});

test.each([
  ["{", /it is not valid JSON/],
  [{}, /^providers: /],
  [{ providers: [{ ...server, url: "file:///etc/passwd" }] }, /^providers\.0\.url: /],
  [{ providers: [{ ...server, api_key: "secret" }] }, /api_key/],
  [
    { providers: [{ ...server, models: [{ ...chat, pricing: { prompt: 1, completion: "1" } }] }] },
    /pricing\.prompt/,
  ],
  [
    { providers: [{ ...server, models: [{ ...chat, pricing: { prompt: "1.5", completion: "1" } }] }] },
    /whole neuron/,
  ],
  [
    { providers: [{ ...server, models: [{ ...chat, pricing: { image: "1" } }] }] },
    /must have exactly prompt and completion/,
  ],
  [{ providers: [{ ...server, models: [chat, chat] }] }, /the same model twice/],
])("%j is refused with a one-line error", (file, message) => {
  const text = typeof file === "string" ? file : JSON.stringify(file);
  expect(() => readProvidersFile(text, AT)).toThrow(message);
});

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("It was not refused.");
}

test("an offer that the file does not have any more has no key, nor another credential", async () => {
  const folder = mkdtempSync(join(tmpdir(), "providers-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "providers.json");
  const file = new FileProviders({ path, variable: () => "server-key" });
  const write = (...providers: object[]) => writeFileSync(path, JSON.stringify({ providers }));
  write({ ...server, api_key_env: "LOCAL_KEY" });
  const [offer] = await file.load();
  if (!offer) throw new Error("there is no offer");
  expect(file.keyOf(offer.address)).toBe("server-key");
  write({ ...server, name: "other" });
  await file.load();
  expect(() => file.keyOf(offer.address)).toThrow(
    expect.objectContaining({ code: "no_available_provider" }) as Error,
  );
});
