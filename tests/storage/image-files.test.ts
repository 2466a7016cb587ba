// @module-tag large
import { expect, test } from "vitest";
import { ROUTER_WALLET } from "../../src/devnet/chain/accounts.ts";
import { ask } from "../support/clients/graph-client.ts";
import { seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack({ STORE_JOB_IMAGES: "on" });
useServices(stack, ["images"]);

test("job images become stored files that the router's wallet pays for once each, and the job links to them", async () => {
  const { app, origin } = stack();
  const { secret } = await seedAccount(app.database, 10n ** 9n);
  const made = async () => {
    const text = `mutation ($model: String!) { submitImageJob(input: { model: $model, prompt: "a sea", n: 2, size: "64x64" }) { imageJob { id } } }`;
    const { data } = await ask(origin, secret, text, { model: SERVICES.images.model });
    return until(async () => {
      const query = `query ($id: ID!) { imageJob(id: $id) { status images { b64Json root file {
        root status url sizeBytes submissions { nodes { sender { address } } } } } } }`;
      const answer = await ask(origin, secret, query, { id: data.submitImageJob.imageJob.id });
      const { images } = answer.data.imageJob;
      return images?.every(({ file }: { file?: { status: string } }) => file?.status === "FINALIZED")
        ? images
        : false;
    });
  };
  const images = await made();
  for (const { b64Json, root, file } of images) {
    const content = Buffer.from(b64Json, "base64");
    expect(file).toMatchObject({ root, sizeBytes: String(content.length) });
    expect(file.submissions.nodes).toEqual([{ sender: { address: ROUTER_WALLET.address } }]);
    const reply = await fetch(`${origin}${file.url}`);
    expect(reply.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from(await reply.arrayBuffer()).equals(content)).toBe(true);
  }
  // The same images again cost nothing more.
  const submitted = await app.submissions.nextTxSeq();
  expect((await made()).map(({ root }: { root: string }) => root)).toEqual(
    images.map(({ root }: { root: string }) => root),
  );
  await until(
    async () => (await app.database.rows("select 1 from image_file where state = 'waiting'")).length === 0,
  );
  expect(await app.submissions.nextTxSeq()).toBe(submitted);
  const states = await app.database.rows<{ state: string }>("select distinct state from image_file");
  expect(states).toEqual([{ state: "stored" }]);
});
