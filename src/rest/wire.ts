import { z } from "zod";
import { TEXT_FORMS } from "../inference/evidence/signed-text.ts";
import { VERDICTS } from "../inference/evidence/tee-signature.ts";

/** Schemas shared by the responses of many endpoints, for OpenAPI. */

/** Neuron as a decimal string: 10^-18 of the network's token, too many digits for a JSON number. */
export const neuron = z
  .string()
  .regex(/^(0|[1-9]\d*)$/)
  .meta({ id: "Neuron", description: "Neuron, 10^-18 of the network's token." });

/** An address in lower case. */
export const address = z.string().regex(/^0x[0-9a-f]{40}$/);

/** A count of requests or tokens. */
export const count = z.int().min(0);

/** A timestamp, ISO 8601 in UTC. */
export const timestamp = z.iso.datetime();

/** An amount of the network's token, exactly. */
export const token = z
  .string()
  .regex(/^(0|[1-9]\d*)(\.\d{1,18})?$/)
  .meta({ id: "Token", description: "An amount of the network's token, as a decimal." });

/** The same where OpenRouter has a JSON number: `exactToken` gives it, with all its digits. */
export const tokenNumber = z.number().min(0).meta({
  id: "TokenNumber",
  description:
    "An amount of the network's token: a JSON number with all its digits, up to 18 after the point, and no exponent.",
});

const usdNumber = z.number().min(0).meta({
  id: "UsdNumber",
  description:
    "An amount of US dollars: a JSON number with all its digits, up to 36 after the point, and no exponent.",
});

/** What a request cost, in the `usage` of its answer. */
export const usageCost = {
  cost: tokenNumber
    .optional()
    .meta({ description: "The amount charged for the request, in the network's token." }),
  cost_usd: usdNumber
    .nullable()
    .optional()
    .meta({ description: "The same in US dollars, if the router knows the price of the token." }),
};

/** The cost and the provider of a request, in every inference response (facts 1.3). */
export const trace = z
  .strictObject({
    request_id: z.string(),
    provider: address,
    model: z
      .string()
      .optional()
      .meta({ description: "The model that answered; absent unless the request named several models." }),
    billing: z.strictObject({
      ...{ input_cost: neuron, output_cost: neuron, total_cost: neuron },
      cache_saving: neuron.nullable().optional().meta({
        description:
          "What the provider's cache saved; absent unless it saved something. Null if tokens were cached and the balance did not cover the whole cost.",
      }),
    }),
    cached_from: z.string().optional().meta({
      description:
        "The earlier request that this stored answer was first returned for; its evidence and receipt concern the provider. Absent if a provider answered this request.",
    }),
    tee_verified: z.boolean().optional().meta({
      description:
        "Whether the provider's acknowledged signer signed this answer; absent unless `verify_tee` was sent.",
    }),
    tee_evidence: z
      .strictObject({
        verdict: z.enum(VERDICTS),
        form: z
          .enum(TEXT_FORMS)
          .optional()
          .meta({ description: "The form of the signed text, if supported." }),
        request_bound: z.boolean().optional().meta({
          description:
            "Whether the signed text contains the hash of the request as zerograph sent it. Often false for a valid signature, because providers sign the request as they forward it to the model. Absent if not compared.",
        }),
        response_bound: z.boolean().optional().meta({
          description:
            "Whether the signed text contains the hash of the answer as zerograph received it. Absent if not compared.",
        }),
      })
      .optional()
      .meta({ description: "What the signature proves; absent unless `verify_tee` was sent." }),
    error: z
      .strictObject({ code: z.literal("evidence_missing"), type: z.string(), message: z.string() })
      .optional()
      .meta({
        description:
          "The answer lacks the proof that `X-0G-Provider-Evidence` or the key requires. It is billed, and delivered " +
          "with the header `X-0G-Provider-Evidence: missing`. Absent otherwise, and in streams, which end with an error event.",
      }),
  })
  .meta({ id: "Trace" });
