// @module-tag large
import { beforeEach, describe, expect, test } from "vitest";
import { drawImage, sizeOfPng } from "../../src/devnet/provider/endpoints/image.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { openSession } from "../support/callers.ts";
import { ask } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const services = useServices(stack, ["edits"]);
const { model, account } = SERVICES.edits;
const PNG = drawImage("a sea", { width: 16, height: 8 });
const fileBase64 = PNG.toString("base64");
const BILL = `bill { requestId providerAddress teeVerified teeEvidence { verdict form requestBound responseBound } cost { total } }`;

let owner: Seeded;
let forms: string[];
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 10_000n);
  forms = [];
  services().edits.behaviour = { jobs: { processingMs: 50, retryAfterSeconds: 0 } };
  services().edits.onBody = (body) => void forms.push(body.toString("latin1"));
});

async function run(field: string, wants: string, input: object, secret = owner.secret) {
  const type = `${field[0]?.toUpperCase()}${field.slice(1)}Input`;
  const { data, errors } = await ask(
    stack().origin,
    secret,
    `mutation ($input: ${type}!) { ${field}(input: $input) { ${wants} userErrors { field message code } } }`,
    { input: { model, prompt: "a boat", images: [{ fileBase64 }], ...input } },
  );
  expect(errors).toBeUndefined();
  return data[field];
}

const edit = (input: object) => run("editImages", `images { b64Json } ${BILL}`, input);
const submit = (input: object) =>
  run("submitImageEditJob", "imageJob { jobId operation status modelId providerAddress }", input);

const field = (name: string, value: string) => `name="${name}"\r\n\r\n${value}\r\n`;

describe("editImages", () => {
  test("sends the form that REST would send, and returns the images with their exact bill", async () => {
    const { images, bill, userErrors } = await edit({
      n: 2,
      mask: { fileBase64, filename: "hole.png" },
      options: { background: "opaque", output_compression: 50, model },
      verifyTee: true,
    });
    expect(userErrors).toEqual([]);
    expect(images).toHaveLength(2);
    expect(sizeOfPng(Buffer.from(images[0].b64Json, "base64"))).toEqual({ width: 16, height: 8 });
    expect(bill).toMatchObject({
      providerAddress: account.address,
      cost: { total: "4000" },
      teeVerified: true,
      teeEvidence: { verdict: "VERIFIED", responseBound: true },
    });
    await requireAvailable(stack().app, owner, { available: 6_000n });
    const [form = ""] = forms;
    for (const [name, value] of [
      ["model", model],
      ["prompt", "a boat"],
      ["n", "2"],
      ["background", "opaque"],
      ["output_compression", "50"],
    ] as const)
      expect(form).toContain(field(name, value));
    expect(form).toContain('name="image"; filename="image.png"\r\nContent-Type: image/png\r\n');
    expect(form).toContain('name="mask"; filename="hole.png"\r\nContent-Type: image/png\r\n');
    expect(form).toContain(PNG.toString("latin1"));
    expect(form).not.toContain("another");
  });

  test("is charged once per idempotency key", async () => {
    const idempotencyKey = newId();
    const first = await edit({ idempotencyKey });
    expect(await edit({ idempotencyKey })).toEqual(first);
    expect(forms).toHaveLength(1);
    await requireAvailable(stack().app, owner, { available: 8_000n });
  });

  test.each([
    [{ images: [] }, "images"],
    [{ images: Array.from({ length: 17 }, () => ({ fileBase64: "AAAA" })) }, "images"],
    [{ images: [{ fileBase64 }, { fileBase64: "no base64!" }] }, "images.1.fileBase64"],
    [{ images: [{ fileBase64: "" }] }, "images.0.fileBase64"],
    [{ images: [{ fileBase64, filename: "x".repeat(256) }] }, "images.0.filename"],
    [{ mask: { fileBase64: "===" } }, "mask.fileBase64"],
    [{ n: 11 }, "n"],
    [{ prompt: "" }, "prompt"],
    [{ options: { background: ["opaque"] } }, "options.background"],
    [{ options: { model: "another" } }, "options.model"],
    [{ options: { response_format: "url" } }, "options.response_format"],
  ])("refuses %j at its field, without calling a provider", async (input, at) => {
    expect(await edit(input)).toMatchObject({
      images: null,
      bill: null,
      userErrors: [{ field: at, code: "invalid_body" }],
    });
    expect(forms).toEqual([]);
    await requireAvailable(stack().app, owner, { available: 10_000n });
  });
});

describe("submitImageEditJob", () => {
  const QUERY = (id: string) => `{ imageJob(id: "${id}") { operation status images { b64Json } ${BILL} } }`;

  async function finished(id: string) {
    return until(async () => {
      const { data, errors } = await ask(stack().origin, owner.secret, QUERY(id));
      expect(errors).toBeUndefined();
      return data.imageJob.status === "COMPLETED" && data.imageJob;
    });
  }

  test("runs a job that is charged once, and shows its bill to the key that created it", async () => {
    const idempotencyKey = newId();
    const { imageJob } = await submit({ idempotencyKey, verifyTee: true });
    expect(imageJob).toMatchObject({ operation: "EDITS", status: "PENDING", modelId: model });
    const id = imageJob.jobId;
    const job = await finished(id);
    expect(sizeOfPng(Buffer.from(job.images[0].b64Json, "base64"))).toEqual({ width: 16, height: 8 });
    const { body } = await rest<{ x_0g_trace: { request_id: string } }>(
      stack().origin,
      `/v1/async/jobs/${id}`,
      owner.secret,
    );
    expect(job.bill).toMatchObject({
      requestId: body.x_0g_trace.request_id,
      providerAddress: account.address,
      cost: { total: "2000" },
    });
    expect((await submit({ idempotencyKey, verifyTee: true })).imageJob.jobId).toBe(id);
    await requireAvailable(stack().app, owner, { available: 8_000n });
    const session = await openSession(stack().app, owner.account);
    const seen = await ask(stack().origin, session, `{ imageJobs { nodes { jobId ${BILL} } } }`);
    expect(seen.data.imageJobs.nodes).toMatchObject([{ jobId: id, bill: { cost: { total: "2000" } } }]);
  });

  test("has no bill before it is completed, and none for a key that only reads the account", async () => {
    services().edits.behaviour = { jobs: { processingMs: 60_000, retryAfterSeconds: 0 } };
    const { imageJob } = await submit({});
    const { data } = await ask(stack().origin, owner.secret, QUERY(imageJob.jobId));
    expect(data.imageJob).toMatchObject({ operation: "EDITS", bill: null, images: null });
    const { secret } = await stack().app.managementKeys.create(owner.account, "m", ["account:read"]);
    const refused = await ask(
      stack().origin,
      secret,
      `{ imageJob(id: "${imageJob.jobId}") { jobId ${BILL} } }`,
    );
    expect(refused.data.imageJob).toEqual({ jobId: imageJob.jobId, bill: null });
    expect(refused.errors).toMatchObject([{ extensions: { code: "insufficient_scope" } }]);
  });

  test("refuses an image that is not valid at its field, and holds nothing", async () => {
    expect(await submit({ images: [{ fileBase64: "?" }] })).toMatchObject({
      imageJob: null,
      userErrors: [{ field: "images.0.fileBase64", code: "invalid_body" }],
    });
    await requireAvailable(stack().app, owner, { available: 10_000n });
  });
});

test("several images are sent under the name that forms use for several", async () => {
  const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3]).toString("base64");
  await edit({ images: [{ fileBase64 }, { fileBase64: jpeg }] });
  const [form = ""] = forms;
  expect(form).toContain('name="image[]"; filename="image.png"\r\nContent-Type: image/png\r\n');
  expect(form).toContain('name="image[]"; filename="image.jpg"\r\nContent-Type: image/jpeg\r\n');
});
