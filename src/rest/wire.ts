import { z } from "zod";

/** What the answers of many endpoints are made of, for OpenAPI. */

/** Neuron as a decimal string: 10^-18 of the network's token, of which no number of JSON holds enough digits. */
export const neuron = z
  .string()
  .regex(/^(0|[1-9]\d*)$/)
  .meta({ id: "Neuron", description: "Neuron, 10^-18 of the network's token." });

/** An address in lower case. */
export const address = z.string().regex(/^0x[0-9a-f]{40}$/);

/** A count of requests or tokens. */
export const tally = z.int().min(0);

/** An instant, ISO 8601 in UTC. */
export const instant = z.iso.datetime();

/** What a request cost and who answered it, in every answer of inference (facts 1.3). */
export const trace = z
  .strictObject({
    request_id: z.string(),
    provider: address,
    billing: z.strictObject({ input_cost: neuron, output_cost: neuron, total_cost: neuron }),
    tee_verified: z
      .boolean()
      .optional()
      .meta({ description: "Whether the provider's signature holds; absent unless `verify_tee` was sent." }),
  })
  .meta({ id: "Trace" });
