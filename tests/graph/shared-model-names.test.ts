// @module-tag large
import { expect, test } from "vitest";
import { ask } from "../support/clients/graph-client.ts";
import { sendJson } from "../support/inference/scripted-provider.ts";
import { useRouter } from "../support/router.ts";
import { until } from "../support/until.ts";

const NAME = "one-name";
const CHAT = { id: NAME, pricing: { prompt: "2", completion: "3" } };
const IMAGES = { id: NAME, service_type: "text-to-image", pricing: { image: "5" } };
const router = await useRouter({ models: [], count: 2, more: (n) => [n === 0 ? CHAT : IMAGES] });

test("a provider, a request and an image job have the model of their own service, also if a chat has its name", async () => {
  const drawn = { created: 1, data: [{ b64_json: "aGVsbG8=" }] };
  router().scripted[1]?.scripts.set(NAME, (_, response) => sendJson(response, 200, drawn));
  const { app, origin, seed } = router();
  const { account, secret } = await seed();
  const submit = `mutation { submitImageJob(input: { model: "${NAME}", prompt: "a sea" }) {
    imageJob { id modelId model { serviceType } } userErrors { message } } }`;
  const { imageJob, userErrors } = (await ask(origin, secret, submit)).data.submitImageJob;
  expect(userErrors).toEqual([]);
  expect(imageJob).toMatchObject({ modelId: NAME, model: { serviceType: "TEXT_TO_IMAGE" } });
  const requestId = await until(async () => {
    const { data } = await ask(origin, secret, `{ imageJob(id: "${imageJob.id}") { bill { requestId } } }`);
    return (data.imageJob.bill?.requestId as string | undefined) ?? false;
  });
  const reader = await app.managementKeys.create(account, "reader", ["account:read"]);
  const { data, errors } = await ask(
    origin,
    reader.secret,
    `{ request(id: "${requestId}") { model { serviceType } }
       providers { nodes { serviceType models { serviceType } } } }`,
  );
  expect(errors).toBeUndefined();
  expect(data.request).toEqual({ model: { serviceType: "TEXT_TO_IMAGE" } });
  const offers = data.providers.nodes as readonly { serviceType: string; models: readonly object[] }[];
  expect(offers.map(({ serviceType }) => serviceType)).toContain("TEXT_TO_IMAGE");
  for (const { serviceType, models } of offers) expect(models).toEqual([{ serviceType }]);
});
