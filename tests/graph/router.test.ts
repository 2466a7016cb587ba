// @module-tag large
import { createClient } from "graphql-ws";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { PROVIDER } from "../../src/devnet/chain/accounts.ts";
import { sizeOfPng } from "../../src/devnet/provider/endpoints/image.ts";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../support/chain/network.ts";
import {
  ask,
  failureCode,
  followEvents,
  followSocket,
  type GraphResult,
  isRouted,
} from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { toWav } from "../support/inference/wav.ts";
import { scaled } from "../support/machine.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { startRemoteGateway } from "../support/servers/remote-gateway.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
useServices(stack, ["images", "speech"]);
const messages = [{ role: "user", content: "What is the sea?" }];
const PROMPT = countPromptTokens(messages);
/** External routers pass the literals of scalars that they do not know to the subgraph. */
const MALFORMED = isRouted ? "invalid_parameter" : "GRAPHQL_VALIDATION_FAILED";

/** The same graph, with its subgraphs over HTTP and WebSocket. */
let remote = "";
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  remote = (await startRemoteGateway(stack(), (end) => void ends.unshift(end))).origin;
});
afterEach(() => {
  stack().provider.behaviour = {};
});
afterAll(async () => {
  for (const end of ends) await end();
});

const WAYS = [
  ["WebSocket", followSocket, () => stack().origin],
  ["server-sent events", followEvents, () => stack().origin],
  ["WebSocket of a gateway with remote subgraphs", followSocket, () => remote],
] as const;

const INPUT = `{ model: "${MODEL}", messages: [{ role: "user", content: "What is the sea?" }], maxTokens: 5 }`;
const withMore = (more: string) => INPUT.replace(/ }$/, `, ${more} }`);
const BILL = "bill { requestId providerAddress cost { input output total } teeVerified }";
const CHAT = `choices { index text reasoning finishReason } inputTokens outputTokens ${BILL}`;
const PIECE = `delta { index text finishReason } inputTokens outputTokens ${BILL}`;

function complete(secret: string | undefined, input = INPUT) {
  return ask(
    stack().origin,
    secret,
    `mutation { completeChat(input: ${input}) { completion { ${CHAT} } userErrors { code } } }`,
  );
}

const costOf = (outputTokens: number) => ({
  input: String(BigInt(PROMPT) * INPUT_PRICE),
  output: String(BigInt(outputTokens) * OUTPUT_PRICE),
  total: String(BigInt(PROMPT) * INPUT_PRICE + BigInt(outputTokens) * OUTPUT_PRICE),
});

async function readerOf({ account }: Seeded): Promise<string> {
  return (await stack().app.managementKeys.create(account, "reader", ["account:read"])).secret;
}

async function requestsOf(seeded: Seeded) {
  return (await stack().app.requests.list(seeded.account, { first: 10 })).rows;
}

async function expectConsistentLedger(): Promise<void> {
  const { faults, openHolds } = await new LedgerService(stack().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
}

describe("completeChat", () => {
  test("answers as REST does, and costs the same", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    const { data, errors } = await complete(seeded.secret);
    expect(errors).toBeUndefined();
    const rest = await fetch(`${stack().origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
      body: JSON.stringify({ model: MODEL, messages, max_tokens: 5 }),
    });
    const answer = (await rest.json()) as {
      choices: { message: { content: string } }[];
      x_0g_trace: { billing: object };
    };
    expect(data.completeChat.completion).toEqual({
      choices: [
        { index: 0, text: answer.choices[0]?.message.content, reasoning: null, finishReason: "length" },
      ],
      inputTokens: PROMPT,
      outputTokens: 5,
      bill: {
        requestId: expect.stringMatching(/^req-/),
        providerAddress: PROVIDER.address,
        cost: costOf(5),
        teeVerified: null,
      },
    });
    expect(answer.x_0g_trace.billing).toMatchObject({ total_cost: costOf(5).total });
    expect((await requestsOf(seeded)).map(({ cost }) => cost?.total.toString())).toEqual([
      costOf(5).total,
      costOf(5).total,
    ]);
    await expectConsistentLedger();
  });

  test("passes on unknown parameters, and refuses what REST refuses", async () => {
    const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
    const several = await complete(secret, withMore("options: { n: 1, temperature: 0.5, stream: false }"));
    expect(several.data.completeChat.completion.choices).toHaveLength(1);
    const failures: readonly [string, string][] = [
      [withMore("options: { n: 0 }"), "invalid_body"],
      [INPUT.replace(MODEL, "none"), "model_not_found"],
      [INPUT.replace(/messages: \[.*\]/, "messages: []"), "invalid_body"],
      [withMore('routing: { maxPriceUsdPrompt: "1e3" }'), MALFORMED],
      [withMore('routing: { maxPriceUsdPrompt: "01" }'), "invalid_max_price_usd"],
      [withMore(`routing: { provider: "0x${"1".repeat(40)}" }`), "provider_not_found"],
    ];
    for (const [input, code] of failures)
      expect(failureCode(await complete(secret, input)), input).toBe(code);
    const poor = await seedAccount(stack().app.database, 1n);
    expect(failureCode(await complete(poor.secret))).toBe("insufficient_balance");
    expect(await requestsOf(poor)).toEqual([]);
  });

  test("returns a provider's failure by its code, and charges nothing", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    stack().provider.behaviour = {
      instead: { status: 500, contentType: "text/plain", body: "a secret host" },
    };
    const { data, errors } = await complete(seeded.secret);
    expect(data.completeChat).toBeNull();
    expect(errors?.[0]?.extensions?.code).toBe("provider_error");
    expect(JSON.stringify(errors)).not.toContain("secret host");
    expect((await requestsOf(seeded))[0]?.cost?.total ?? 0n).toBe(0n);
    await expectConsistentLedger();
  });
});

test("a mutation that takes a provider longer than 5 s is waited for across processes, too", async () => {
  const seeded = await seedAccount(stack().app.database, 10n ** 9n);
  stack().provider.behaviour = { delayMs: 6_000 };
  const mutation = `mutation { completeChat(input: ${INPUT}) { completion { ${CHAT} } } }`;
  const { data, errors } = await ask(remote, seeded.secret, mutation);
  expect(errors).toBeUndefined();
  expect(data.completeChat.completion.bill.cost).toEqual(costOf(5));
});

describe("completeChat as a subscription", () => {
  const query = `subscription { completeChat(input: ${INPUT}) { ${PIECE} } }`;

  test.each(WAYS)(
    "sends tokens as they arrive and ends with the cost, over %s",
    async (_name, follow, origin) => {
      const seeded = await seedAccount(stack().app.database, 10n ** 9n);
      stack().provider.behaviour = { chunkDelayMs: 20 };
      const following = await follow(origin(), seeded.secret, query);
      const pieces = await piecesOf(following);
      await following.stop();
      expect(pieces.length).toBeGreaterThanOrEqual(6);
      const whole = await complete(seeded.secret);
      const text = pieces.map(({ delta }) => delta?.text ?? "").join("");
      expect(text).toBe(whole.data.completeChat.completion.choices[0].text);
      expect(pieces.at(-2)?.delta?.finishReason).toBe("length");
      expect(pieces.at(-1)).toEqual({
        delta: null,
        inputTokens: PROMPT,
        outputTokens: 5,
        bill: {
          requestId: expect.stringMatching(/^req-/),
          providerAddress: PROVIDER.address,
          cost: costOf(5),
          teeVerified: null,
        },
      });
      await expectConsistentLedger();
    },
  );

  test("ends by itself after the bill", async () => {
    const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
    const results: unknown[] = [];
    await new Promise<void>((resolve, reject) => {
      const client = createClient({
        url: `${stack().origin.replace(/^http/, "ws")}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { authorization: `Bearer ${secret}` },
      });
      client.subscribe(
        { query },
        {
          next: (result) => void results.push(result),
          error: reject,
          complete: () => resolve(client.dispose()),
        },
      );
    });
    expect(results.at(-1)).toMatchObject({ data: { completeChat: { bill: { cost: costOf(5) } } } });
  });

  test.each(WAYS)(
    "unsubscribing over %s disconnects the provider within 1 s and charges what was delivered",
    async (_name, follow, origin) => {
      const seeded = await seedAccount(stack().app.database, 10n ** 9n);
      stack().provider.behaviour = { chunkDelayMs: 100 };
      const aborted = stack().provider.aborted;
      const long = query.replace("maxTokens: 5", "maxTokens: 60");
      const following = await follow(origin(), seeded.secret, long);
      await until(() => following.results.length >= 3);
      const leftMs = performance.now();
      await following.stop();
      await until(() => stack().provider.aborted > aborted);
      expect(performance.now() - leftMs).toBeLessThan(scaled(1_000));
      const request = await until(async () => {
        const [row] = await requestsOf(seeded);
        return row !== undefined && row.status !== "running" && row;
      });
      expect(request.status).toBe("aborted");
      expect(request.outputTokens).toBeGreaterThanOrEqual(2);
      expect(request.outputTokens).toBeLessThan(20);
      expect(request.cost?.total.toString()).toBe(costOf(request.outputTokens ?? 0).total);
      await expectConsistentLedger();
    },
  );

  test("unsubscribing before the first token costs nothing", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    const aborted = Promise.withResolvers<void>();
    stack().provider.behaviour = { after: aborted.promise };
    const requests = stack().provider.requests;
    const following = await followSocket(stack().origin, seeded.secret, query);
    await until(() => stack().provider.requests > requests);
    await following.stop();
    const [request] = await until(async () => {
      const rows = await requestsOf(seeded);
      return rows.some(({ status }) => status === "aborted") && rows;
    });
    aborted.resolve();
    expect(request?.cost?.total ?? 0n).toBe(0n);
    await expectConsistentLedger();
  });

  test("a provider that breaks off ends it with the bill of what was delivered, and an error", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    stack().provider.behaviour = { breakAfterEvents: 4 };
    const following = await followEvents(stack().origin, seeded.secret, query);
    await until(() => following.results.some(({ errors }) => errors !== undefined));
    await following.stop();
    expect(following.results.at(-1)?.errors?.[0]?.extensions?.code).toBe("provider_error");
    const [request] = await requestsOf(seeded);
    const bills = following.results.flatMap(({ data }) => data?.completeChat?.bill ?? []);
    expect(bills.map(({ requestId }: { readonly requestId: string }) => requestId)).toEqual([request?.id]);
    expect(request).toMatchObject({ status: "failed", errorCode: expect.any(String) });
    expect(request?.cost?.total).toBeGreaterThan(0n);
    await expectConsistentLedger();
  });

  test("an answer of many pieces is delivered completely", async () => {
    const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
    stack().provider.behaviour = { chunks: 64 };
    const following = await followEvents(
      stack().origin,
      secret,
      query.replace("maxTokens: 5", "maxTokens: 64"),
    );
    const pieces = await piecesOf(following);
    await following.stop();
    expect(pieces.at(-1)?.outputTokens).toBe(64);
  });
});

describe("generateImages and transcribeAudio", () => {
  test("generate real images, at the price of each", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    const input = `{ model: "${SERVICES.images.model}", prompt: "a sea", n: 2, size: "32x16", verifyTee: true }`;
    const { data, errors } = await ask(
      stack().origin,
      seeded.secret,
      `mutation { generateImages(input: ${input}) { images { b64Json } ${BILL} } }`,
    );
    expect(errors).toBeUndefined();
    const sizes = data.generateImages.images.map(({ b64Json }: { b64Json: string }) =>
      sizeOfPng(Buffer.from(b64Json, "base64")),
    );
    expect(sizes).toEqual([
      { width: 32, height: 16 },
      { width: 32, height: 16 },
    ]);
    expect(data.generateImages.bill).toMatchObject({
      providerAddress: SERVICES.images.account.address,
      cost: { total: String(2n * SERVICES.images.outputPrice) },
      teeVerified: true,
    });
    await expectConsistentLedger();
  });

  test("transcribe audio, at the price of its seconds", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    const { data, errors } = await ask(
      stack().origin,
      seeded.secret,
      `mutation Write($sound: String!) {
        transcribeAudio(input: { model: "${SERVICES.speech.model}", fileBase64: $sound, verifyTee: true }) { transcription { text segments ${BILL} } }
      }`,
      { sound: toWav(3).toString("base64") },
    );
    expect(errors).toBeUndefined();
    expect(data.transcribeAudio.transcription).toMatchObject({
      text: expect.stringMatching(/\w/),
      bill: { cost: { total: String(3n * SERVICES.speech.outputPrice) }, teeVerified: true },
    });
    await expectConsistentLedger();
  });

  test("refuse what REST refuses", async () => {
    const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
    const codeOf = async (field: string) =>
      failureCode(await ask(stack().origin, secret, `mutation { ${field} { userErrors { code } } }`));
    const { model } = SERVICES.images;
    expect(await codeOf(`generateImages(input: { model: "${model}", prompt: "" })`)).toBe("invalid_body");
    expect(await codeOf(`generateImages(input: { model: "${model}", prompt: "a", n: 11 })`)).toBe(
      "invalid_body",
    );
    expect(await codeOf(`generateImages(input: { model: "${MODEL}", prompt: "a" })`)).toBe("model_not_found");
    expect(
      await codeOf(`transcribeAudio(input: { model: "${SERVICES.speech.model}", fileBase64: "" })`),
    ).toBe("invalid_body");
  });
});

describe("routingPreview", () => {
  const preview = (secret: string, args: string) =>
    ask(
      stack().origin,
      secret,
      `{ routingPreview(${args}) { providers { address trustMode health { circuit inFlight } } excluded { providerAddress reason } } }`,
    );

  test("names the providers in order, and the reasons of the others, and charges nothing", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    const { data } = await preview(seeded.secret, `serviceType: CHATBOT, model: "${MODEL}"`);
    expect(data.routingPreview).toEqual({
      providers: [
        { address: PROVIDER.address, trustMode: "PRIVATE", health: { circuit: "CLOSED", inFlight: 0 } },
      ],
      excluded: [],
    });
    expect(await requestsOf(seeded)).toEqual([]);
  });

  test("refuses as a request would be refused", async () => {
    const { secret } = await seedAccount(stack().app.database, 0n);
    const codeOf = async (args: string) => (await preview(secret, args)).errors?.[0]?.extensions?.code;
    expect(await codeOf('serviceType: CHATBOT, model: "none"')).toBe("model_not_found");
    const withCap = (usd: string) =>
      codeOf(`serviceType: CHATBOT, model: "${MODEL}", routing: { maxPriceUsdPrompt: "${usd}" }`);
    expect(await withCap("-1")).toBe(MALFORMED);
    expect(await withCap("01")).toBe("invalid_max_price_usd");
  });
});

describe("a request", () => {
  test("is joined with its cost, its routing and its evidence, for its own account only", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    const { data } = await complete(seeded.secret, withMore("verifyTee: true"));
    expect(data.completeChat.completion.bill.teeVerified).toBe(true);
    const request = `{ request(id: "${data.completeChat.completion.bill.requestId}") {
      cost { total } timing { receivedMs admittedMs firstByteMs durationMs } provider { address profile { formats } }
      model { modelId supportedFormats }
      routing { attempts { providerAddress outcome reason status startMs durationMs } excluded { providerAddress reason } }
      evidence { verified verdict providerAddress answerId text signature signer expectedSigner checkedAt }
    } }`;
    const own = await ask(stack().origin, await readerOf(seeded), request);
    expect(own.errors).toBeUndefined();
    expect(own.data.request).toEqual({
      cost: { total: costOf(5).total },
      // It did not come over REST.
      timing: {
        receivedMs: null,
        admittedMs: expect.any(Number),
        firstByteMs: expect.any(Number),
        durationMs: expect.any(Number),
      },
      provider: { address: PROVIDER.address, profile: { formats: ["OPENAI"] } },
      model: { modelId: MODEL, supportedFormats: ["OPENAI"] },
      routing: {
        attempts: [
          {
            providerAddress: PROVIDER.address,
            outcome: "ANSWERED",
            reason: null,
            status: null,
            startMs: expect.any(Number),
            durationMs: expect.any(Number),
          },
        ],
        excluded: [],
      },
      evidence: {
        verified: true,
        verdict: "VERIFIED",
        providerAddress: PROVIDER.address,
        answerId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        text: expect.stringMatching(/^[0-9a-f]{64}:[0-9a-f]{64}$/),
        signature: expect.stringMatching(/^0x[0-9a-f]{130}$/),
        signer: PROVIDER.address,
        expectedSigner: PROVIDER.address,
        checkedAt: expect.any(String),
      },
    });
    const other = await seedAccount(stack().app.database, 0n);
    expect((await ask(stack().origin, await readerOf(other), request)).data.request).toBeNull();
  });

  test("over REST says how long it took to be received and admitted, and when each attempt began", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    const { status } = await rest(stack().origin, "/v1/chat/completions", seeded.secret, {
      body: { model: MODEL, messages: [{ role: "user", content: "x" }] },
    });
    expect(status).toBe(200);
    const { data } = await ask(
      stack().origin,
      await readerOf(seeded),
      "{ viewer { account { requests { nodes { timing { receivedMs admittedMs durationMs } routing { attempts { startMs durationMs } } } } } } }",
    );
    const [{ timing, routing }] = data.viewer.account.requests.nodes;
    const [{ startMs, durationMs }] = routing.attempts;
    expect(timing.receivedMs).toBeGreaterThanOrEqual(0);
    expect(startMs).toBeGreaterThanOrEqual(timing.admittedMs);
    expect(startMs + durationMs).toBeLessThanOrEqual(timing.durationMs + 1);
  });

  test("has no evidence where none was requested, and lists its failed attempts", async () => {
    const seeded = await seedAccount(stack().app.database, 10n ** 9n);
    stack().provider.behaviour = { instead: { status: 500, contentType: "text/plain", body: "" } };
    await complete(seeded.secret);
    const { data } = await ask(
      stack().origin,
      await readerOf(seeded),
      "{ viewer { account { requests { nodes { status errorCode evidence { verdict } routing { attempts { outcome status reason } } } } } } }",
    );
    const [request] = data.viewer.account.requests.nodes;
    expect(request).toMatchObject({ status: "FAILED", errorCode: "provider_error", evidence: null });
    expect(request.routing.attempts.length).toBeGreaterThanOrEqual(1);
    for (const attempt of request.routing.attempts)
      expect(attempt).toEqual({ outcome: "FAILED", status: 500, reason: "failed" });
  });
});

type Piece = {
  readonly delta: { readonly text: string | null; readonly finishReason: string | null } | null;
  readonly outputTokens: number | null;
  readonly bill: object | null;
};

async function piecesOf({
  results,
}: {
  readonly results: readonly GraphResult[];
}): Promise<readonly Piece[]> {
  await until(() => results.some(({ data, errors }) => errors !== undefined || data?.completeChat?.bill));
  expect(results.flatMap(({ errors = [] }) => errors)).toEqual([]);
  return results.map(({ data }) => data.completeChat as Piece);
}
