import {
  CACHING_PROVIDERS,
  EDIT_PROVIDER,
  EMBEDDING_PROVIDER,
  IMAGE_PROVIDER,
  RANKING_PROVIDER,
  RESPONSES_PROVIDER,
  ROUTER_WALLET,
  SPEECH_PROVIDER,
  VOICE_PROVIDER,
} from "../../src/devnet/chain/accounts.ts";
import { fundRouterWallet, registerProvider } from "../../src/devnet/chain/actors.ts";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import { type StandInProvider, startProvider } from "../../src/devnet/provider/provider.ts";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import type { Stack } from "./stack.ts";
import { useStarted } from "./stack.ts";

/** Anvil's eighth account. WARNING: its key is PUBLIC. */
const MESSAGES_PROVIDER = {
  address: "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
  privateKey: "0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
} as const;

const [CACHING, ALSO_CACHING] = CACHING_PROVIDERS;
/** A model of two equally expensive providers that cache prompts. */
const CACHED = {
  serviceType: "chatbot",
  model: "test-cached",
  inputPrice: 10n,
  outputPrice: 20n,
  cachesPrompts: true,
  info: { SupportedFormats: ["openai", "anthropic", "completions"], CachedPromptPrice: "1" },
} as const;

/** The offers of the additional providers of a test; the unit prices are those of an image, a second or a character. */
export const SERVICES = {
  messages: {
    account: MESSAGES_PROVIDER,
    serviceType: "chatbot",
    model: "test-claude",
    inputPrice: 7n,
    outputPrice: 11n,
    info: {
      SupportedFormats: ["openai", "anthropic", "completions"],
      Name: "Test Claude",
      ContextLength: 200_000,
      MaxCompletionTokens: 32_000,
      InputModalities: ["text", "image"],
      SupportedParameters: ["tools", "max_tokens"],
    },
  },
  images: {
    account: IMAGE_PROVIDER,
    serviceType: "text-to-image",
    model: "test-image",
    inputPrice: 0n,
    outputPrice: 1_000n,
    info: {},
  },
  edits: {
    account: EDIT_PROVIDER,
    serviceType: "image-editing",
    model: "test-edit",
    inputPrice: 0n,
    outputPrice: 2_000n,
    info: {},
  },
  speech: {
    account: SPEECH_PROVIDER,
    serviceType: "speech-to-text",
    model: "test-speech",
    inputPrice: 0n,
    outputPrice: 30n,
    info: {},
  },
  embeddings: {
    account: EMBEDDING_PROVIDER,
    serviceType: "embedding",
    model: "test-embedding",
    inputPrice: 3n,
    outputPrice: 0n,
    info: { ContextLength: 8_192 },
  },
  voice: {
    account: VOICE_PROVIDER,
    serviceType: "text-to-speech",
    model: "test-voice",
    inputPrice: 0n,
    outputPrice: 20n,
    info: {},
  },
  rerank: {
    account: RANKING_PROVIDER,
    serviceType: "rerank",
    model: "test-rerank",
    inputPrice: 4n,
    outputPrice: 0n,
    info: { ContextLength: 8_192 },
  },
  responses: {
    account: RESPONSES_PROVIDER,
    serviceType: "chatbot",
    model: "test-responses",
    inputPrice: 13n,
    outputPrice: 17n,
    info: { SupportedFormats: ["openai", "responses"], KeepsResponses: true },
  },
  cached: { ...CACHED, account: CACHING },
  alsoCached: { ...CACHED, account: ALSO_CACHING },
} as const;

type ServiceName = keyof typeof SERVICES;

/** One more provider of each of these services, besides the stack's own, in its catalogue. */
export function useServices<Name extends ServiceName>(
  stack: () => Stack,
  names: readonly Name[],
): () => Readonly<Record<Name, StandInProvider>> {
  return useStarted(async (onEnd) => {
    const { app, rpcUrl } = stack();
    const started: Partial<Record<Name, StandInProvider>> = {};
    for (const name of names) {
      const service = SERVICES[name];
      const { account, serviceType, model, inputPrice, outputPrice, info } = service;
      const provider = await startProvider({
        address: account.address,
        model,
        serviceType,
        countTokens: countPromptTokens,
        cachesPrompts: "cachesPrompts" in service,
        accounts: { rpcUrl, inference: contractAddresses().inference },
        signerKey: account.privateKey,
      });
      onEnd(() => provider.stop());
      await registerProvider(rpcUrl, {
        providerKey: account.privateKey,
        url: provider.url,
        model,
        inputPrice,
        outputPrice,
        serviceType,
        verifiability: "TeeML",
        additionalInfo: JSON.stringify(info),
        teeSigner: account.address,
      });
      await fundRouterWallet(rpcUrl, { routerKey: ROUTER_WALLET.privateKey, provider: account.address });
      started[name] = provider;
    }
    await app.catalogue.refresh();
    return started as Readonly<Record<Name, StandInProvider>>;
  });
}
