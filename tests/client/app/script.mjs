import { createClient, openaiConfig, serverSentEvents } from "@zerograph/client";
import { BalanceChangedDocument, BalanceDocument } from "@zerograph/client/operations";
import { verify } from "@zerograph/client/verify";
import OpenAI from "openai";

const { ZEROGRAPH_URL: url, SK: apiKey, MK: credential, MODEL: model } = process.env;
const client = createClient({ url, credential });
const overEvents = createClient({ url, credential, transport: serverSentEvents() });

const { eventCursor, viewer } = await client.query(BalanceDocument);
const [socket, events] = [client, overEvents].map((one) =>
  one.subscribe(BalanceChangedDocument, {}, { after: eventCursor }),
);

const openai = new OpenAI(openaiConfig({ url, credential: apiKey }));
const request = { model, messages: [{ role: "user", content: "What is the sea?" }], max_tokens: 4 };
const chat = await openai.chat.completions.create(request).asResponse();
const answer = new Uint8Array(await chat.arrayBuffer());

/** The causes of the events up to the charge. */
async function causesOf(subscription) {
  const causes = [];
  for await (const { data } of subscription) {
    causes.push(data.balanceChanged.cause);
    if (data.balanceChanged.cause === "SETTLEMENT") break;
  }
  return causes;
}

const causes = await Promise.all([socket, events].map(causesOf));
const refusal = await client
  .query("{ viewer { account { apiKeys(first: 1) { nodes { id } } } } }")
  .catch(({ code }) => code);

/** The receipt is signed a moment after the answer. */
async function receiptOf(id) {
  for (;;) {
    const reply = await fetch(`${url}/v1/receipts/${id}`, { headers: { authorization: `Bearer ${apiKey}` } });
    if (reply.status === 200) return reply.text();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const { x_0g_trace: trace } = JSON.parse(new TextDecoder().decode(answer));
const bundle = await receiptOf(trace.request_id);
const { ok, checks } = await verify({ bundle, answer });
const passed = checks.filter(({ result }) => result === "passed").map(({ id }) => id);
client.dispose();
overEvents.dispose();
console.log(JSON.stringify({ balance: viewer.account.balance, causes, refusal, ok, passed }));
