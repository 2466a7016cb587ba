import { ROUTER_WALLET } from "../../src/devnet/chain/accounts.ts";
import { fundRouterWallet, registerProvider } from "../../src/devnet/chain/actors.ts";
import { startJobBroker, working } from "../support/chain/job-broker.ts";
import { newTrader } from "../support/chain/market.ts";
import { rest } from "../support/clients/rest-client.ts";
import {
  event,
  openStream,
  ROLE,
  sendJson,
  startScripted,
  WORDS,
} from "../support/inference/scripted-provider.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";
import type { Target } from "./calls.ts";

/** Models whose providers fail or hang. They are gone, though still registered, when the release has stopped. */
export const BROKEN_MODEL = "upgrade-broken";
export const HANGING_MODEL = "upgrade-hanging";
export const JOB_MODEL = "upgrade-jobs";

/** What a prompt for `JOB_MODEL` makes of its job at the provider. */
export const JOB_PROMPTS = {
  pending: "stay pending",
  processing: "stay processing",
  failed: "fail",
} as const;

const PRICES = { inputPrice: 2_000_000_000n, outputPrice: 5_000_000_000n };
const FAILED = { status: 200, body: { status: "failed", errorMessage: "the image came out wrong" } };

/** Registers the providers of the three models, and waits until the product offers them. */
export async function startScriptedProviders(target: Target, onEnd: OnEnd): Promise<void> {
  const chats = await startScripted();
  onEnd(() => chats.stop());
  chats.scripts.set(BROKEN_MODEL, (_call, response) => sendJson(response, 500, { error: "broken" }));
  chats.scripts.set(HANGING_MODEL, (_call, response) => {
    const words = WORDS.map((content) => event({ delta: { content } }));
    openStream(response).write([ROLE, ...words].join(""));
  });
  const broker = await startJobBroker(onEnd, {
    poll(_n, { body }) {
      return body.toString().includes(JOB_PROMPTS.failed) ? FAILED : working(0.25);
    },
  });
  await register(target, { model: BROKEN_MODEL, url: chats.url, serviceType: "chatbot" });
  await register(target, { model: HANGING_MODEL, url: chats.url, serviceType: "chatbot" });
  await register(target, { model: JOB_MODEL, url: broker.url, serviceType: "text-to-image" });
  await until(async () => {
    const { body } = await rest<{ data: { id: string }[] }>(target.origin, "/v1/models");
    const known = body.data.map(({ id }) => id);
    return [BROKEN_MODEL, HANGING_MODEL, JOB_MODEL].every((model) => known.includes(model));
  });
}

async function register(
  { rpcUrl }: Target,
  offer: { readonly model: string; readonly url: string; readonly serviceType: string },
): Promise<void> {
  const { address, privateKey } = await newTrader(rpcUrl);
  await registerProvider(rpcUrl, {
    ...offer,
    ...PRICES,
    providerKey: privateKey,
    verifiability: "TeeML",
    additionalInfo: "{}",
    teeSigner: address,
  });
  await fundRouterWallet(rpcUrl, { routerKey: ROUTER_WALLET.privateKey, provider: address });
}
