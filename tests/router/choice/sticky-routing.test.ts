// @module-tag large
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import type { StandInProvider } from "../../../src/devnet/provider/provider.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { rest } from "../../support/clients/rest-client.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ PROVIDER_COOL_DOWN_MS: "1" });
const services = useServices(stack, ["cached", "alsoCached"]);

const BALANCE = 1_000_000_000n;
const MODEL = SERVICES.cached.model;
const ADDRESSES = [SERVICES.cached, SERVICES.alsoCached].map(({ account }) => account.address.toLowerCase());
const [FIRST = "", SECOND = ""] = ADDRESSES;
const CONVERSATIONS = 10;
const TURNS = 10;

type Message = { readonly role: string; readonly content: string };
type Reply = {
  readonly choices: readonly { readonly message: Message }[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
  readonly x_0g_trace: {
    readonly request_id: string;
    readonly provider: string;
    readonly billing: { readonly total_cost: string; readonly cache_saving?: string };
  };
};

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, BALANCE);
});
afterEach(async () => {
  for (const provider of providers()) provider.behaviour = {};
  expect((await new LedgerService(stack().app.database).verify()).faults).toEqual([]);
});

function providers(): readonly StandInProvider[] {
  const { cached, alsoCached } = services();
  return [cached, alsoCached];
}

let sets = 0;

/** Conversations that no other test has; each begins with a system prompt of 300 tokens, or with a short one. */
function conversations({ isLong }: { readonly isLong: boolean }): Message[][] {
  const set = ++sets;
  return Array.from({ length: CONVERSATIONS }, (_, number) => [
    { role: "system", content: `Set ${set}, number ${number}. ${"Be brief. ".repeat(isLong ? 100 : 1)}` },
  ]);
}

async function chat(
  body: object,
  { secret = owner.secret, headers = {} }: Omit<Extra, "body"> = {},
): Promise<Reply> {
  const reply = await rest<Reply>(stack().origin, "/v1/chat/completions", secret, {
    body: { model: MODEL, max_tokens: 24, ...body },
    headers,
  });
  expect(reply.status, JSON.stringify(reply.body)).toBe(200);
  return reply.body;
}

/** What a request of a conversation has besides its messages. */
type Extra = {
  readonly body?: object;
  readonly headers?: Record<string, string>;
  readonly secret?: string;
};

/** Has all conversations at once, turn by turn; resolves with the replies of each turn. */
async function converse(
  all: Message[][],
  extra: (number: number) => Extra,
  beforeTurn: (turn: number) => void = () => {},
): Promise<readonly (readonly Reply[])[]> {
  const turns: Reply[][] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    beforeTurn(turn);
    const replies = await Promise.all(
      all.map(async (messages, number) => {
        messages.push({ role: "user", content: `Question ${turn}: what of the sea, and of what is in it?` });
        const { body = {}, ...sent } = extra(number);
        const reply = await chat({ messages, ...body }, sent);
        const [choice] = reply.choices;
        if (choice) messages.push(choice.message);
        return reply;
      }),
    );
    turns.push(replies);
  }
  return turns;
}

function sum(turns: readonly (readonly Reply[])[], of: (reply: Reply) => number): number {
  return turns.flat().reduce((total, reply) => total + of(reply), 0);
}

const cachedTokens = ({ usage }: Reply) => usage.prompt_tokens_details.cached_tokens;
const costOf = ({ x_0g_trace: trace }: Reply) => Number(trace.billing.total_cost);
const providerOf = ({ x_0g_trace: trace }: Reply) => trace.provider;

/** The tokens that one provider caches of the same conversations, had by another account. */
async function cachedByOne(isLong: boolean): Promise<number> {
  const { secret } = await seedAccount(stack().app.database, BALANCE);
  const pinned = { headers: { "x-0g-provider-address": FIRST }, secret };
  return sum(await converse(conversations({ isLong }), () => pinned), cachedTokens);
}

describe("conversations at two providers that cache prompts", () => {
  test.each<[string, boolean, (number: number) => Extra]>([
    ["nothing but their first messages", true, () => ({})],
    ["session_id", false, (number) => ({ body: { session_id: `session-${sets}-${number}` } })],
    ["X-Session-Id", false, (number) => ({ headers: { "x-session-id": `session-${sets}-${number}` } })],
    ["prompt_cache_key", false, (number) => ({ body: { prompt_cache_key: `key-${sets}-${number}` } })],
    ["user", false, (number) => ({ body: { user: `user-${sets}-${number}` } })],
  ])("read 90 % of what one provider alone caches, known by %s", async (_, isLong, extra) => {
    const possible = await cachedByOne(isLong);
    expect(possible).toBeGreaterThan(15_000);
    const turns = await converse(conversations({ isLong }), extra);
    expect(sum(turns, cachedTokens)).toBeGreaterThanOrEqual(possible * 0.9);
    const [first = []] = turns;
    for (const replies of turns) expect(replies.map(providerOf)).toEqual(first.map(providerOf));
    await requireAvailable(stack().app, owner, { available: BALANCE - BigInt(sum(turns, costOf)) });
  });

  test("are spread over both providers", async () => {
    // Each goes to either by a hash of its own: of ten, all go to the same one in 1 of 512 runs.
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, number) =>
        chat({ messages: [{ role: "user", content: "The sea?" }], session_id: `spread-${number}` }),
      ),
    );
    expect(new Set(replies.map(providerOf))).toEqual(new Set(ADDRESSES));
  });

  test.each([
    ["answers with an error", { instead: { status: 500, contentType: "application/json", body: "{}" } }],
    ["breaks its answers off", { breakAfterEvents: 1 }],
  ])("lose nothing when a provider %s, and stay with the other one", async (_, behaviour) => {
    const extra = (number: number) => ({ body: { session_id: `failover-${sets}-${number}` } });
    const possible = await cachedByOne(false);
    const [failing] = providers();
    const turns = await converse(conversations({ isLong: false }), extra, (turn) => {
      if (turn === 4 && failing) failing.behaviour = behaviour;
      if (turn === 7 && failing) failing.behaviour = {};
    });
    const of = (turn: number) => (turns[turn] ?? []).map(providerOf);
    expect(of(3)).toContain(FIRST);
    expect(of(4)).toEqual(Array(CONVERSATIONS).fill(SECOND));
    for (let turn = 5; turn < TURNS; turn++) expect(of(turn)).toEqual(of(4));
    const moved = of(3).flatMap((address, number) => (address === FIRST ? [number] : []));
    for (const number of moved) {
      expect(cachedTokens(turns[4]?.[number] as Reply)).toBe(0);
      expect(cachedTokens(turns[5]?.[number] as Reply)).toBe(turns[4]?.[number]?.usage.prompt_tokens);
    }
    // Each conversation that moved reads its prompt once more.
    const lost = moved.reduce((total, number) => total + (turns[3]?.[number]?.usage.prompt_tokens ?? 0), 0);
    expect(sum(turns, cachedTokens)).toBeGreaterThanOrEqual(possible * 0.99 - lost);
    await requireAvailable(stack().app, owner, { available: BALANCE - BigInt(sum(turns, costOf)) });
  });
});

describe("a conversation that is cached", () => {
  let messages: readonly Message[];
  let session: { readonly session_id: string };
  let home: string;
  let other: string;
  beforeEach(async () => {
    session = { session_id: `cached-${++sets}` };
    messages = [{ role: "user", content: `${sets}. ${"What is the sea, and how deep is it? ".repeat(20)}` }];
    home = providerOf(await chat({ messages, ...session }));
    other = home === FIRST ? SECOND : FIRST;
  });

  test.each<[string, (address: string) => Extra]>([
    ["provider.address", (address) => ({ body: { provider: { address } } })],
    ["provider.order", (address) => ({ body: { provider: { order: [address] } } })],
    ["provider.only", (address) => ({ body: { provider: { only: [address] } } })],
    ["X-0G-Provider-Address", (address) => ({ headers: { "x-0g-provider-address": address } })],
    ["X-0G-Provider-Order", (address) => ({ headers: { "x-0g-provider-order": address } })],
    ["X-0G-Provider-Only", (address) => ({ headers: { "x-0g-provider-only": address } })],
  ])("does not override %s, and is where it was afterwards", async (_, extra) => {
    const { body, ...sent } = extra(other);
    expect(providerOf(await chat({ messages, ...session, ...body }, sent))).toBe(other);
    expect(providerOf(await chat({ messages, ...session }))).toBe(home);
  });

  test("does not override a provider that is ignored, or that the key may not use", async () => {
    const ignored = { messages, ...session, provider: { ignore: [home] } };
    expect(providerOf(await chat(ignored))).toBe(other);
    await stack().app.apiKeys.update(owner.account, owner.keyId, { allowedProviders: [other] });
    expect(providerOf(await chat({ messages, ...session }))).toBe(other);
  });

  test("is shown with what its cache saved, in the answer, over REST and in the graph", async () => {
    const { app, origin } = stack();
    const { usage, x_0g_trace: trace } = await chat({ messages, ...session });
    const read = usage.prompt_tokens_details.cached_tokens;
    expect(read).toBe(usage.prompt_tokens);
    // A token costs 10 neuron, and 1 if it was cached.
    const saving = String(read * 9);
    expect(trace.billing.cache_saving).toBe(saving);
    const { secret: reader } = await app.managementKeys.create(owner.account, "reader", ["account:read"]);
    const history = await rest<{ data: object[] }>(origin, "/v1/account/usage/history", reader);
    expect(history.body.data).toMatchObject([
      { request_id: trace.request_id, cached_tokens: read, cache_saving: saving },
      { cached_tokens: 0, cache_saving: "0" },
    ]);
    const query = `{ viewer { account { usage { history(first: 2) { nodes { cachedTokens cacheSaving } } } } }
      request(id: "${trace.request_id}") { cachedTokens cost { cacheSaving } routing { cachedByAddress } } }`;
    const { data } = await ask(origin, reader, query);
    expect(data.viewer.account.usage.history.nodes).toEqual([
      { cachedTokens: read, cacheSaving: saving },
      { cachedTokens: 0, cacheSaving: "0" },
    ]);
    expect(data.request).toMatchObject({ cachedTokens: read, cost: { cacheSaving: saving } });
    expect(data.request.routing.cachedByAddress.toLowerCase()).toBe(home);
  });

  test("is the same in every format, in the graph, and in a preview", async () => {
    const { origin } = stack();
    const bodies = {
      "/v1/messages": { messages, max_tokens: 5 },
      "/v1/responses": { input: messages, max_output_tokens: 5 },
      "/v1/completions": { prompt: "The sea", max_tokens: 5 },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const reply = await rest<Reply>(origin, path, owner.secret, {
        body: { model: MODEL, ...session, ...body },
      });
      expect([path, providerOf(reply.body)]).toEqual([path, home]);
    }
    const routing = `routing: { sessionId: "${session.session_id}" }`;
    const asked = `model: "${MODEL}", messages: [{ role: "user", content: "Hi" }], ${routing}`;
    const { data } = await ask(
      origin,
      owner.secret,
      `mutation { completeChat(input: { ${asked} }) { completion { bill { providerAddress cost { cacheSaving } } } } }`,
    );
    const { bill } = data.completeChat.completion;
    expect([bill.providerAddress.toLowerCase(), bill.cost.cacheSaving]).toEqual([home, "0"]);
    const preview = await rest<{ providers: { address: string }[] }>(
      origin,
      "/v1/routing/preview",
      owner.secret,
      {
        body: { service_type: "chatbot", model: MODEL, ...session },
      },
    );
    expect(preview.body.providers.map(({ address }) => address)).toEqual([home, other]);
    const graph = await ask(
      origin,
      owner.secret,
      `{ routingPreview(serviceType: CHATBOT, model: "${MODEL}", ${routing}) { providers { address } } }`,
    );
    expect(graph.data.routingPreview.providers[0].address.toLowerCase()).toBe(home);
  });
});

test("sessions of another account with the same ids and texts have no influence", async () => {
  const [failing] = providers();
  const ids = Array.from({ length: 24 }, (_, number) => ({ session_id: `shared-${number}` }));
  const messages = [{ role: "user", content: "What is the sea? ".repeat(40) }];
  const all = async (secret: string) =>
    (await Promise.all(ids.map((id) => chat({ messages, ...id }, { secret })))).map(providerOf);
  if (failing) failing.behaviour = { instead: { status: 500, contentType: "application/json", body: "{}" } };
  expect(new Set(await all(owner.secret))).toEqual(new Set([SECOND]));
  if (failing) failing.behaviour = {};
  expect(new Set(await all(owner.secret))).toEqual(new Set([SECOND]));
  const stranger = await seedAccount(stack().app.database, BALANCE);
  expect(new Set(await all(stranger.secret))).toEqual(new Set(ADDRESSES));
});
