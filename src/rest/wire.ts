import { z } from "zod";

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

/** The cost and the provider of a request, in every inference response (facts 1.3). */
export const trace = z
  .strictObject({
    request_id: z.string(),
    provider: address,
    billing: z.strictObject({ input_cost: neuron, output_cost: neuron, total_cost: neuron }),
    tee_verified: z.boolean().optional().meta({
      description: "Whether the provider's signature is valid; absent unless `verify_tee` was sent.",
    }),
  })
  .meta({ id: "Trace" });
