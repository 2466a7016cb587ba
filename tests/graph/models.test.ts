// @module-tag large
import { describe, expect, test } from "vitest";
import { ask } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack({ TOKEN_USD: "2.5" });
const withoutPrice = useStack();
useServices(stack, ["messages", "images", "speech"]);
const CLAUDE = SERVICES.messages;

type RestModel = {
  readonly id: string;
  readonly name: string;
  readonly owned_by: string;
  readonly created: number;
  readonly tee_attested: boolean;
  readonly pricing_usd: { readonly prompt: string; readonly completion: string };
};

async function query<T>(text: string, { origin } = stack()): Promise<T> {
  const { data, errors } = await ask(origin, undefined, `{ ${text} }`);
  expect(errors).toBeUndefined();
  return data;
}

describe("a model", () => {
  test("has the figures of REST: its prices in dollars, its name, owner and age", async () => {
    const { body } = await rest<RestModel>(stack().origin, `/v1/models/${CLAUDE.model}`);
    const { model } = await query<{ model: Record<string, unknown> & { updatedAt: string } }>(
      `model(id: "${CLAUDE.model}") {
        name ownedBy updatedAt teeAttested pricingUsd { input output cachedInput cacheWrite tiers { input } }
        providers { teeAttested pricingUsd { input output } }
      }`,
    );
    const { prompt: input, completion: output } = body.pricing_usd;
    expect(input).toBe("0.0000000000000000175");
    expect(model).toMatchObject({
      name: body.name,
      ownedBy: body.owned_by,
      teeAttested: body.tee_attested,
      pricingUsd: { input, output, cachedInput: null, cacheWrite: null, tiers: [] },
      providers: [{ teeAttested: true, pricingUsd: { input, output } }],
    });
    expect(Math.floor(Date.parse(model.updatedAt) / 1_000)).toBe(body.created);
  });

  test("has no prices in dollars while the token's price is unknown", async () => {
    const { models } = await query<{ models: { nodes: readonly unknown[] } }>(
      "models { nodes { pricing { input } pricingUsd { input } providers { pricingUsd { input } } } }",
      withoutPrice(),
    );
    expect(models.nodes).toEqual([
      { pricing: { input: expect.any(String) }, pricingUsd: null, providers: [{ pricingUsd: null }] },
    ]);
  });

  test.each([
    [`{ inputModalities: ["audio"] }`, [SERVICES.speech.model]],
    [`{ inputModalities: ["text", "image"] }`, [CLAUDE.model]],
    [`{ supportedParameters: ["tools", "max_tokens"] }`, [CLAUDE.model]],
    [`{ supportedParameters: ["tools", "seed"] }`, []],
    [`{ providerAddresses: ["${SERVICES.images.account.address}"] }`, [SERVICES.images.model]],
    [`{ providerAddresses: ["${SERVICES.images.account.address}"], inputModalities: ["audio"] }`, []],
  ])("is found by %s", async (filter, expected) => {
    const { models } = await query<{ models: { nodes: readonly { modelId: string }[] } }>(
      `models(filter: ${filter}) { nodes { modelId } }`,
    );
    expect(models.nodes.map(({ modelId }) => modelId)).toEqual(expected);
  });
});

test("serviceTypes lists what GET /v1/service-types lists", async () => {
  const { body } = await rest<{ data: readonly Record<string, unknown>[] }>(
    stack().origin,
    "/v1/service-types",
  );
  const { serviceTypes } = await query<{ serviceTypes: readonly Record<string, unknown>[] }>(
    "serviceTypes { type label providerCount }",
  );
  expect(serviceTypes).toHaveLength(7);
  expect(
    serviceTypes.map(({ type, label, providerCount }) => ({
      type: String(type).toLowerCase().replaceAll("_", "-"),
      label,
      provider_count: providerCount,
    })),
  ).toEqual(body.data);
  expect(body.data.map(({ provider_count }) => provider_count)).toEqual([2, 1, 0, 1, 0, 0, 0]);
});
