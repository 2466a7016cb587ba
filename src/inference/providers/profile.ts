import { z } from "zod";
import { type Hex, isAddress, lowerHex } from "../../kernel/text/hex.ts";

/** The request formats that a model may support (SPEC 2.4); the last two are our own names. */
export const API_FORMATS = ["openai", "anthropic", "completions", "responses"] as const;
export type ApiFormat = (typeof API_FORMATS)[number];

/** A provider's optional description of a model, apart from its price (facts 1.3). Lengths are in tokens. */
export type Profile = {
  readonly formats: readonly ApiFormat[];
  /** Whether it keeps responses for requests that continue them. */
  readonly keepsResponses?: boolean | undefined;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly contextLength?: number | undefined;
  readonly maxCompletionTokens?: number | undefined;
  readonly inputModalities?: readonly string[] | undefined;
  readonly outputModalities?: readonly string[] | undefined;
  readonly tokenizer?: string | undefined;
  readonly instructType?: string | undefined;
  readonly supportedParameters?: readonly string[] | undefined;
  readonly defaultParameters?: Readonly<Record<string, unknown>> | undefined;
  readonly teeType?: string | undefined;
  readonly teeVerifier?: string | undefined;
  /** The signer of the answers if the model runs in an enclave separate from the provider's own. */
  readonly targetSigner?: Hex | undefined;
  readonly providerName?: string | undefined;
  readonly providerCountry?: string | undefined;
  readonly expirationDate?: string | undefined;
};

const PLAIN: Profile = { formats: ["openai"] };

const text = z.string().min(1).max(2_000).optional().catch(undefined);
const length = z.int().min(1).max(100_000_000).optional().catch(undefined);
const names = z.array(z.string().min(1).max(100)).max(100).optional().catch(undefined);
const parameters = z.record(z.string(), z.unknown()).optional().catch(undefined);

/** The published names of `additionalInfo`, and our own in the same style for fields without a published name. */
const AdditionalInfo = z.object({
  SupportedFormats: z.array(z.enum(API_FORMATS)).min(1).optional().catch(undefined),
  KeepsResponses: z.boolean().optional().catch(undefined),
  Name: text,
  Description: text,
  ContextLength: length,
  MaxCompletionTokens: length,
  InputModalities: names,
  OutputModalities: names,
  Tokenizer: text,
  InstructType: text,
  SupportedParameters: names,
  DefaultParameters: parameters,
  TEEType: text,
  TEEVerifier: text,
  TargetSeparated: z
    .union([z.boolean(), z.literal("true").transform(() => true)])
    .optional()
    .catch(undefined),
  TargetTeeAddress: z.string().refine(isAddress).optional().catch(undefined),
  ProviderType: text,
  ProviderName: text,
  ProviderCountry: text,
  ExpirationDate: text,
});

/** Reads the profile from a registry row's `additionalInfo`; invalid values are ignored. */
export function profileOf(additionalInfo: string): Profile {
  const info = AdditionalInfo.safeParse(parse(additionalInfo)).data;
  if (!info) return PLAIN;
  return {
    formats: info.SupportedFormats ?? PLAIN.formats,
    keepsResponses: info.KeepsResponses,
    name: info.Name,
    description: info.Description,
    contextLength: info.ContextLength,
    maxCompletionTokens: info.MaxCompletionTokens,
    inputModalities: info.InputModalities,
    outputModalities: info.OutputModalities,
    tokenizer: info.Tokenizer,
    instructType: info.InstructType,
    supportedParameters: info.SupportedParameters,
    defaultParameters: info.DefaultParameters,
    teeType: info.TEEType,
    teeVerifier: info.TEEVerifier,
    targetSigner: targetSignerOf(info),
    providerName: info.ProviderName,
    providerCountry: info.ProviderCountry,
    expirationDate: info.ExpirationDate,
  };
}

/** The rule of facts 2.1: a separate enclave is only used for decentralized providers. */
function targetSignerOf(info: z.output<typeof AdditionalInfo>): Hex | undefined {
  const { TargetSeparated, TargetTeeAddress, ProviderType } = info;
  if (!TargetSeparated || ProviderType !== "decentralized" || TargetTeeAddress === undefined)
    return undefined;
  return lowerHex(TargetTeeAddress);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
