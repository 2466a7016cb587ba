import { beforeEach, describe, expect, test } from "vitest";
import type { KeySettings } from "../../../src/keys/api-keys/key-settings.ts";
import { MODEL } from "../../support/chain/network.ts";
import {
  BILLED,
  BILLED_ROUTES,
  type BilledSample,
  PROVIDER_ROUTES,
  sendBilled,
  UNBILLED,
} from "../../support/inference/billed-routes.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
useServices(stack, ["messages", "images", "edits", "speech", "embeddings", "voice", "rerank"]);

const RICH = 10n ** 15n;
const LONG = "the quiet river runs to the open sea ".repeat(40);
const TOOL = {
  type: "function",
  name: "launch",
  parameters: { type: "object" },
  input_schema: { type: "object" },
  function: { name: "launch", parameters: { type: "object" } },
};

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, RICH);
});

/** A key of the owner with these settings. */
async function keyWith(settings: Partial<KeySettings>): Promise<Seeded> {
  const { key, secret } = await stack().app.apiKeys.create(
    owner.account,
    `key-${crypto.randomUUID()}`,
    settings,
  );
  return { account: owner.account, keyId: key.id, secret };
}

/** The ledger's rows of the account: nothing is held or recorded for a refused request. */
async function recorded(): Promise<number> {
  const [row] = await stack().app.database.rows<{ n: number }>(
    `select ((select count(*) from inference_request where account = $1::text)
       + (select count(*) from hold where account = $1::text))::int as n`,
    [owner.account],
  );
  return row?.n ?? -1;
}

type Refusal = {
  readonly error: { readonly code: string; readonly message: string; readonly param?: string };
};

/** A guardrail, a request that it refuses, and the field that the refusal names. */
type Case = {
  readonly guardrail: string;
  readonly settings: Partial<KeySettings>;
  readonly loosened: Partial<KeySettings>;
  readonly fields: (sample: BilledSample) => Readonly<Record<string, unknown>>;
  readonly param: (sample: BilledSample) => string;
  readonly applies?: (sample: BilledSample) => boolean;
};

const longText = ({ text, body }: BilledSample) =>
  text === "messages" ? { messages: [{ role: "user", content: LONG }] } : { ...body, [text]: LONG };

const CASES: readonly Case[] = [
  {
    guardrail: "max_input_bytes",
    settings: { maxInputBytes: 40 },
    loosened: { maxInputBytes: 1_000_000 },
    fields: () => ({}),
    param: () => "body",
  },
  {
    guardrail: "max_input_tokens",
    settings: { maxInputTokens: 100 },
    loosened: { maxInputTokens: null },
    fields: longText,
    param: () => "body",
  },
  {
    guardrail: "max_output_tokens",
    settings: { maxOutputTokens: 20 },
    loosened: { maxOutputTokens: 30 },
    fields: ({ limit = "" }) => ({ [limit]: 21 }),
    param: ({ limit = "" }) => limit,
    applies: ({ limit }) => limit !== undefined,
  },
  {
    guardrail: "allowed_tools",
    settings: { allowedTools: ["search"] },
    loosened: { allowedTools: ["search", "launch"] },
    fields: () => ({ tools: [TOOL] }),
    param: () => "tools",
  },
  {
    guardrail: "blocked_parameters",
    settings: { blockedParameters: ["seed", "user"] },
    loosened: { blockedParameters: ["seed"] },
    fields: () => ({ user: "someone" }),
    param: () => "user",
  },
];

describe.each(PROVIDER_ROUTES)("%s", (route) => {
  const sample = BILLED[route] ?? UNBILLED[route];
  const isForm = sample?.files !== undefined;

  test.each(CASES.filter(({ applies }) => !applies || (sample && applies(sample))))(
    "is refused by $guardrail, and served once that is loosened",
    async ({ guardrail, settings, loosened, fields, param }) => {
      if (!sample) throw new Error(`there is no request for ${route}: add one to BILLED`);
      const key = await keyWith(settings);
      const reply = await sendBilled(stack().origin, key, route, fields(sample));
      const { error } = (await reply.json()) as Refusal;
      expect([reply.status, error.code], error.message).toEqual([403, "guardrail_violated"]);
      expect(error.message).toContain(`guardrail ${guardrail} `);
      if (!route.startsWith("POST /v1/messages")) expect(error.param).toBe(param(sample));
      expect(reply.headers.get("x-should-retry")).toBe("false");
      expect(await recorded()).toBe(0);
      // The list of tools of a form is a text, in which no name can be allowed.
      if (isForm && guardrail === "allowed_tools") return;
      await stack().app.apiKeys.update(owner.account, key.keyId, loosened);
      const served = await sendBilled(stack().origin, key, route, fields(sample));
      expect(served.status, await served.clone().text()).toBeLessThan(300);
      await served.arrayBuffer();
    },
  );

  test("is served within every guardrail, and the signature of an answer is verified", async () => {
    const key = await keyWith({
      ...{ maxInputTokens: 100, maxInputBytes: 10_000_000, maxOutputTokens: 16 },
      ...{ allowedTools: ["search"], blockedParameters: ["logprobs"], verifyTee: true },
    });
    const reply = await sendBilled(stack().origin, key, route);
    expect(reply.status, await reply.clone().text()).toBeLessThan(300);
    const text = await reply.text();
    if (route.includes("/async/")) {
      const [job] = await stack().app.database.rows<{ verifies: boolean }>(
        "select (spec->>'verifyTee')::boolean as verifies from job where account = $1::text",
        [owner.account],
      );
      expect(job).toEqual({ verifies: true });
      return;
    }
    if (UNBILLED[route]) return;
    const trace = JSON.parse(reply.headers.get("x-0g-trace") ?? text);
    expect((trace.x_0g_trace ?? trace).tee_verified).toBeTypeOf("boolean");
  });
});

test("the first request of a key in a process is verified", async () => {
  for (const content of ["Hi", "a long question ".repeat(2_000)]) {
    const key = await keyWith({ verifyTee: true });
    const messages = [{ role: "user", content }];
    const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key.secret}` },
      body: JSON.stringify({ model: MODEL, max_tokens: 2, messages }),
    });
    const { x_0g_trace: trace } = (await reply.json()) as { x_0g_trace: { tee_verified?: boolean } };
    expect(trace.tee_verified).toBeTypeOf("boolean");
  }
});

const FORMS = Object.keys(BILLED).filter((route) => BILLED[route]?.files);
test.each(FORMS)("the query parameter verify_tee of %s is the field of that name", async (route) => {
  const key = await keyWith({ blockedParameters: ["verify_tee"] });
  const send = (query: string) => sendBilled(stack().origin, key, route, {}, {}, query);
  const refused = await send("?verify_tee=true");
  expect(refused.status).toBe(403);
  expect(((await refused.json()) as Refusal).error).toMatchObject({
    code: "guardrail_violated",
    param: "verify_tee",
  });
  expect(await recorded()).toBe(0);
  for (const query of ["", "?verify_tee=false"]) expect((await send(query)).ok).toBe(true);
});

test("every request in the table is that of a billed route", () => {
  expect(Object.keys(BILLED).sort()).toEqual([...BILLED_ROUTES].sort());
});

test("every route that sends a content to a provider has a request in the tables", () => {
  expect([...Object.keys(BILLED), ...Object.keys(UNBILLED)].sort()).toEqual([...PROVIDER_ROUTES].sort());
});
