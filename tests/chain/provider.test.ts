import { request as httpRequest } from "node:http";
import { encode as encodeCl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { encode as encodeO200k } from "gpt-tokenizer/encoding/o200k_base";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { inferenceServingAbi } from "../../src/chain/abi/inference-serving.ts";
import { createAppSecret } from "../../src/chain/direct/app-secret.ts";
import { DEMO_USER, PROVIDER, ROUTER_WALLET } from "../../src/devnet/chain/accounts.ts";
import { fundRouterWallet, registerProvider } from "../../src/devnet/chain/actors.ts";
import { type Anvil, startAnvil } from "../../src/devnet/chain/anvil.ts";
import { connectDevnet, mined } from "../../src/devnet/chain/chain-client.ts";
import { contractAddresses, deployContracts } from "../../src/devnet/chain/deploy.ts";
import { type StandInProvider, startProvider } from "../../src/devnet/provider/provider.ts";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { until } from "../support/until.ts";

const MODEL = "stand-in";
const MESSAGES = [{ role: "user", content: "Say something." }];
const { inference } = contractAddresses();

let anvil: Anvil;
let provider: StandInProvider;
let bearer: string;

beforeAll(async () => {
  anvil = await startAnvil();
  await deployContracts(anvil.url);
  provider = await startProvider({
    address: PROVIDER.address,
    model: MODEL,
    countTokens: countPromptTokens,
    accounts: { rpcUrl: anvil.url, inference },
  });
  await registerProvider(anvil.url, {
    providerKey: PROVIDER.privateKey,
    url: provider.url,
    model: MODEL,
    inputPrice: 1n,
    outputPrice: 2n,
    serviceType: "chatbot",
    verifiability: "",
    additionalInfo: "{}",
    teeSigner: PROVIDER.address,
  });
  await fundRouterWallet(anvil.url, { routerKey: ROUTER_WALLET.privateKey, provider: PROVIDER.address });
  bearer = await secret();
});
afterEach(() => {
  provider.behaviour = {};
});
afterAll(async () => {
  await provider?.stop();
  await anvil?.stop();
});

test("the model list names the model", async () => {
  const answer = await fetch(`${provider.url}/v1/models`);
  expect(await answer.json()).toMatchObject({ object: "list", data: [{ id: MODEL, object: "model" }] });
});

test("a plain answer depends only on the messages and has its usage", async () => {
  const first = await chat({ max_tokens: 9 });
  expect(first.status).toBe(200);
  const body = (await first.json()) as Chat;
  const { content } = body.choices[0].message;
  const prompt = countPromptTokens(MESSAGES);
  expect(body).toMatchObject({
    id: `chatcmpl-${first.headers.get("ZG-Res-Key")}`,
    object: "chat.completion",
    model: MODEL,
    choices: [{ index: 0, message: { role: "assistant" }, finish_reason: "length" }],
    usage: { prompt_tokens: prompt, completion_tokens: 9, total_tokens: prompt + 9 },
  });
  expect(encodeO200k(content)).toHaveLength(9);
  expect(encodeCl100k(content)).toHaveLength(9);
  const second = await chatBody({ max_tokens: 9 });
  expect(second.id).not.toBe(body.id);
  expect(second.choices[0].message.content).toBe(content);
  const other = await chatBody({ max_tokens: 9, messages: [{ role: "user", content: "Else." }] });
  expect(other.choices[0].message.content).not.toBe(content);
});

test.each([
  [{}, 16, "stop"],
  [{ max_tokens: null }, 16, "stop"],
  [{ max_tokens: 5, max_completion_tokens: 4 }, 4, "length"],
  [{ max_completion_tokens: 1 }, 1, "length"],
  [{ max_tokens: 1_000_000 }, 64, "stop"],
])("with %j an answer has %d tokens and ends by %s", async (limits, tokens, reason) => {
  const body = await chatBody(limits);
  expect(body.usage.completion_tokens).toBe(tokens);
  expect(body.choices[0].finish_reason).toBe(reason);
  expect(body.choices[0].message.content.split(" ")).toHaveLength(tokens);
});

test("a stream is the plain answer in OpenAI's chunks, with usage only if requested", async () => {
  const plain = (await chatBody({ max_tokens: 6 })).choices[0].message.content;
  const answer = await chat({ max_tokens: 6, stream: true, stream_options: { include_usage: true } });
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  const chunks = events(await answer.text());
  expect(chunks.at(-1)).toBe("[DONE]");
  const [role, ...rest] = chunks.slice(0, -1).map((chunk) => JSON.parse(chunk));
  const usage = rest.pop();
  const finish = rest.pop();
  expect(role).toMatchObject({
    id: `chatcmpl-${answer.headers.get("ZG-Res-Key")}`,
    choices: [{ delta: { role: "assistant" } }],
  });
  expect(rest).toHaveLength(6);
  expect(rest.map((chunk) => chunk.choices[0].delta.content).join("")).toBe(plain);
  expect(finish.choices).toEqual([{ index: 0, delta: {}, finish_reason: "length" }]);
  expect(usage).toMatchObject({ choices: [], usage: { completion_tokens: 6 } });

  const bare = await (await chat({ max_tokens: 6, stream: true })).text();
  expect(bare).not.toContain("usage");
  provider.behaviour = { chunks: 2, chunkDelayMs: 1 };
  const coarse = events(await (await chat({ max_tokens: 6, stream: true })).text());
  expect(coarse).toHaveLength(1 + 2 + 1 + 1);
});

test("a malformed request, or one for another model, is refused with a message", async () => {
  for (const body of ["", "{", "[]", '{"model":"stand-in","messages":[]}', '{"messages":[{}]}'])
    expect(await refusal(await post(body))).toEqual([400, "Provider: not a chat request"]);
  expect(await refusal(await chat({ model: "else" }))).toEqual([
    400,
    "Provider: model else is not served here",
  ]);
  expect(await refusal(await chat({ max_tokens: 0 }))).toEqual([400, "Provider: not a chat request"]);
  expect(await refusal(await fetch(`${provider.url}/v1/else`))).toEqual([404, "Provider: no such endpoint"]);
});

test("only an authentic, valid secret for this provider is accepted", async () => {
  const by = async (token: string) => refusal(await chat({}, token));
  expect(await by(bearer)).toEqual([200, undefined]);
  expect(await by("sk-1")).toEqual([401, "Provider: invalid session token"]);
  const text = Buffer.from(bearer.slice(7), "base64").toString();
  const forged = text.replace(ROUTER_WALLET.address, DEMO_USER.address);
  expect(await by(`app-sk-${Buffer.from(forged).toString("base64")}`)).toEqual([
    401,
    "Provider: invalid session token",
  ]);
  expect(await by(await secret({ timestamp: Date.now() - 7_200_000, expiresAt: Date.now() - 1 }))).toEqual([
    401,
    "Provider: token expired",
  ]);
  expect(await by(await secret({ provider: DEMO_USER.address }))).toEqual([
    401,
    "Provider: token is for another provider",
  ]);
  expect(await by(await secret({ generation: 1 }))).toEqual([401, "Provider: token generation is over"]);
  expect(await by(await secret({ privateKey: DEMO_USER.privateKey }))).toEqual([
    400,
    "Provider: account does not exist",
  ]);
  const unsigned = await fetch(`${provider.url}/v1/proxy/chat/completions`, { method: "POST", body: "{}" });
  expect(await refusal(unsigned)).toEqual([401, "Provider: missing Authorization: Bearer app-sk-..."]);
});

test("a revoked token is refused within a second, and a new generation ends all of them", async () => {
  const wallet = await connectDevnet(anvil.url, ROUTER_WALLET.privateKey);
  const contract = { address: inference, abi: inferenceServingAbi } as const;
  const [seven, eight, nine] = await Promise.all(
    [7, 8, 9].map((tokenId) => secret({ tokenId, expiresAt: 0 })),
  );
  const status = async (token = "") => (await chat({}, token)).status;
  expect([await status(seven), await status(eight), await status(nine)]).toEqual([200, 200, 200]);

  const revoke = { ...contract, functionName: "revokeToken", args: [PROVIDER.address, 7] } as const;
  await mined(wallet, await wallet.writeContract(revoke));
  const several = { ...contract, functionName: "revokeTokens", args: [PROVIDER.address, [8, 10]] } as const;
  await mined(wallet, await wallet.writeContract(several));
  const args = [ROUTER_WALLET.address, PROVIDER.address, 8] as const;
  expect(await wallet.readContract({ ...contract, functionName: "isTokenRevoked", args })).toBe(true);
  await until(async () => expect([await status(seven), await status(eight)]).toEqual([401, 401]), 1_000);
  expect([await status(nine), await status(bearer)]).toEqual([200, 200]);

  const all = { ...contract, functionName: "revokeAllTokens", args: [PROVIDER.address] } as const;
  await mined(wallet, await wallet.writeContract(all));
  await until(async () => expect([await status(nine), await status(bearer)]).toEqual([401, 401]), 1_000);
  bearer = await secret({ generation: 1 });
  expect(await status(bearer)).toBe(200);
});

test("a client that disconnects is noticed at once, in a plain answer and in a stream", async () => {
  provider.behaviour = { delayMs: 60_000 };
  const { requests, aborted } = provider;
  const leaving = leave({});
  await until(async () => expect(provider.requests).toBe(requests + 1));
  leaving.destroy();
  await until(async () => expect(provider.aborted).toBe(aborted + 1), 1_000);

  provider.behaviour = { chunkDelayMs: 60_000 };
  const streaming = leave({ stream: true });
  await new Promise((resolve) => streaming.once("response", resolve));
  streaming.destroy();
  await until(async () => expect(provider.aborted).toBe(aborted + 2), 1_000);
  provider.behaviour = {};
  await (await chat({})).text();
  expect([provider.requests, provider.aborted]).toEqual([requests + 3, aborted + 2]);
});

test("it misbehaves on request", async () => {
  provider.behaviour = { instead: { status: 200, contentType: "text/html", body: "<p>oops" } };
  const html = await chat({});
  expect([html.headers.get("content-type"), await html.text()]).toEqual(["text/html", "<p>oops"]);
  provider.behaviour = { usageJson: '{"completion_tokens":1e999}', headers: { "set-cookie": "a=b" } };
  const odd = await chat({});
  expect(odd.headers.get("set-cookie")).toBe("a=b");
  expect(await odd.text()).toContain('"usage":{"completion_tokens":1e999}');
  provider.behaviour = { breakAfterEvents: 3 };
  await expect(chat({}).then((answer) => answer.text())).rejects.toThrow();
  await expect(chat({ stream: true }).then((answer) => answer.text())).rejects.toThrow();
});

async function secret({
  privateKey = ROUTER_WALLET.privateKey,
  ...claims
}: {
  privateKey?: `0x${string}`;
  provider?: `0x${string}`;
  generation?: number;
  tokenId?: number;
  timestamp?: number;
  expiresAt?: number;
} = {}): Promise<string> {
  const timestamp = claims.timestamp ?? Date.now();
  return createAppSecret({
    account: privateKeyToAccount(privateKey),
    provider: PROVIDER.address,
    generation: 0,
    timestamp,
    expiresAt: timestamp + 3_600_000,
    nonce: crypto.randomUUID(),
    ...claims,
  });
}

type Chat = {
  readonly id: string;
  readonly usage: { readonly completion_tokens: number };
  readonly choices: readonly [
    { readonly message: { readonly content: string }; readonly finish_reason: string },
  ];
};

async function chatBody(fields: object): Promise<Chat> {
  return (await (await chat(fields)).json()) as Chat;
}

function chat(fields: object, token = bearer): Promise<Response> {
  return post(JSON.stringify({ model: MODEL, messages: MESSAGES, ...fields }), token);
}

function post(body: string, token = bearer): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return fetch(`${provider.url}/v1/proxy/chat/completions`, { method: "POST", headers, body });
}

function leave(fields: object) {
  const headers = { authorization: `Bearer ${bearer}` };
  const request = httpRequest(`${provider.url}/v1/proxy/chat/completions`, { method: "POST", headers });
  request.on("error", () => undefined);
  request.end(JSON.stringify({ model: MODEL, messages: MESSAGES, ...fields }));
  return request;
}

function events(text: string): string[] {
  return text
    .split("\n\n")
    .filter(Boolean)
    .map((event) => event.replace(/^data: /, ""));
}

async function refusal(answer: Response): Promise<[number, unknown]> {
  const { error } = (await answer.json()) as { error?: unknown };
  return [answer.status, error];
}
