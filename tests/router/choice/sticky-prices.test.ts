// @module-tag large
import { beforeEach, expect, test } from "vitest";
import { completion, type Script, sendJson } from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";

/** The first provider is the cheaper one, unless the second has the prompt cached. */
const PRICINGS = [
  { prompt: "20", completion: "20" },
  { prompt: "50", completion: "20", cached_prompt: "5" },
] as const;
const MODEL = "unequal";
const router = await useRouter({
  models: [],
  settings: { PROVIDER_COOL_DOWN_MS: "1" },
  more: (n) => [{ id: MODEL, pricing: PRICINGS[n] ?? PRICINGS[0] }],
});
const messages = [{ role: "user", content: "What is the sea? ".repeat(200) }];
const PROMPT_TOKENS = 800;

let owner: Seeded;
beforeEach(async () => {
  owner = await router().seed();
  for (const { scripts, calls } of router().scripted) {
    scripts.clear();
    calls.length = 0;
  }
});

const broken: Script = (_call, response) => sendJson(response, 500, { error: { message: "broken" } });

/** Answers with so many cached tokens; undefined for a provider that does not report them. */
function reads(cached: number | undefined): Script {
  const details = cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } };
  const usage = {
    prompt_tokens: PROMPT_TOKENS,
    completion_tokens: 8,
    total_tokens: PROMPT_TOKENS + 8,
    ...details,
  };
  return (_call, response) => sendJson(response, 200, completion({ usage }));
}

/** Sends a request of the conversation while the providers do this; resolves with the number of the one that answers. */
async function askedOf(first: Script, second: Script, body: object = {}): Promise<number> {
  const { scripted, chat } = router();
  for (const [n, script] of [first, second].entries()) scripted[n]?.scripts.set(MODEL, script);
  const before = scripted.map(({ calls }) => calls.length);
  const reply = await chat(owner, { model: MODEL, messages, max_tokens: 50, ...body });
  expect(reply.status).toBe(200);
  const { x_0g_trace: trace } = (await reply.json()) as { x_0g_trace: { provider: string } };
  const tried = scripted.flatMap(({ calls }, n) => (calls.length > (before[n] ?? 0) ? [n] : []));
  const offers = router().app.catalogue.model(MODEL)?.providers ?? [];
  const answered = PRICINGS.findIndex(
    ({ prompt }) => offers.find(({ address }) => address === trace.provider)?.inputPrice === BigInt(prompt),
  );
  expect(tried).toContain(answered);
  return answered;
}

test("a conversation that another provider had to answer stays there while its cached tokens cost less", async () => {
  expect(await askedOf(reads(0), reads(0))).toBe(0);
  expect(await askedOf(broken, reads(0))).toBe(1);
  for (let turn = 0; turn < 5; turn++) expect(await askedOf(reads(0), reads(PROMPT_TOKENS))).toBe(1);
  const { scripted } = router();
  expect(scripted.map(({ calls }) => calls.length)).toEqual([2, 6]);
});

test.each([0, undefined])(
  "it leaves a provider that turns out to have cached nothing (%s)",
  async (cached) => {
    expect(await askedOf(broken, reads(0))).toBe(1);
    expect(await askedOf(reads(0), reads(cached))).toBe(1);
    for (let turn = 0; turn < 3; turn++) expect(await askedOf(reads(0), reads(cached))).toBe(0);
  },
);

test("another conversation, a sorted one, and one below a price cap go to the cheapest provider", async () => {
  const session = { session_id: "one" };
  expect(await askedOf(broken, reads(0), session)).toBe(1);
  expect(await askedOf(reads(0), reads(PROMPT_TOKENS), { session_id: "two" })).toBe(0);
  expect(await askedOf(reads(0), reads(PROMPT_TOKENS), { ...session, provider: { sort: "price" } })).toBe(0);
  expect(await askedOf(reads(0), reads(PROMPT_TOKENS), session)).toBe(1);
});

test("a stream is remembered like a whole answer", async () => {
  expect(await askedOf(broken, reads(0))).toBe(1);
  const { chat, scripted } = router();
  const [first, second] = scripted;
  first?.scripts.delete(MODEL);
  second?.scripts.delete(MODEL);
  const reply = await chat(owner, { model: MODEL, messages, max_tokens: 50, stream: true });
  expect(await reply.text()).toContain("[DONE]");
  expect(second?.callsOf(MODEL)).toHaveLength(2);
  // Its usage had no cached tokens.
  expect(await askedOf(reads(0), reads(0))).toBe(0);
});
