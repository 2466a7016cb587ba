import { z } from "zod";
import { SERVICE_TYPES } from "../../inference/providers/provider.ts";
import { countServiceTypes } from "../../inference/providers/service-types.ts";
import { defineRoute, json, listOf } from "../route.ts";

/** GET /v1/service-types (facts 1.3): the types of service, and the number of providers of each. */
export const listServiceTypes = defineRoute({
  method: "GET",
  url: "/v1/service-types",
  summary: "List the service types",
  access: "public",
  answer: {
    json: z.strictObject(
      listOf(z.strictObject({ type: z.enum(SERVICE_TYPES), label: z.string(), provider_count: z.int() })),
    ),
  },
  async handle(app) {
    const data = countServiceTypes(app.catalogue.providers()).map(({ type, label, providerCount }) => ({
      type,
      label,
      provider_count: providerCount,
    }));
    return json({ object: "list", data });
  },
});
