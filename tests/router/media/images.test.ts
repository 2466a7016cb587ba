// @module-tag large
import { beforeEach, describe, expect, test } from "vitest";
import { drawImage, sizeOfPng } from "../../../src/devnet/provider/endpoints/image.ts";
import { type RestFailure, rest } from "../../support/clients/rest-client.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";

type Images = {
  readonly data: readonly { readonly b64_json: string }[];
  readonly x_0g_trace: { readonly request_id: string; readonly billing: { readonly total_cost: string } };
};

const stack = useStack();
const services = useServices(stack, ["images", "edits"]);
const IMAGE = SERVICES.images;
const EDIT = SERVICES.edits;

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 10_000n);
  services().images.behaviour = {};
  services().edits.behaviour = {};
});

describe("POST /v1/images/generations", () => {
  test("returns real images, and each is charged once at the price of one", async () => {
    const { status, body } = await generate<Images>({ n: 3, size: "32x16" });
    expect(status).toBe(200);
    expect(body.data.map(({ b64_json }) => sizeOfPng(Buffer.from(b64_json, "base64")))).toEqual(
      Array(3).fill({ width: 32, height: 16 }),
    );
    expect(body.x_0g_trace.billing.total_cost).toBe("3000");
    await requireAvailable(stack().app, owner, { available: 7_000n });
  });

  test("holds the price of all requested images, and refuses what the balance does not cover", async () => {
    const { status } = await generate({ n: 10 });
    expect(status).toBe(200);
    await requireAvailable(stack().app, owner, { available: 0n });
    const refused = await generate<RestFailure>({});
    expect([refused.status, refused.body.error.code]).toEqual([402, "insufficient_balance"]);
  });

  test("charges what was delivered when it was fewer, and nothing for data that is not an image", async () => {
    const one = { b64_json: "aGVsbG8=" };
    services().images.behaviour = { instead: json({ created: 1, data: [one] }) };
    const { body } = await generate<Images>({ n: 4 });
    expect(body.x_0g_trace.billing.total_cost).toBe("1000");
    for (const data of [[], [{ url: "https://example.com/x.png" }], [{ b64_json: "" }], "x"]) {
      services().images.behaviour = { instead: json({ created: 1, data }) };
      const failed = await generate<RestFailure>({});
      expect([failed.status, failed.body.error.code]).toEqual([502, "provider_error"]);
    }
    await requireAvailable(stack().app, owner, { available: 9_000n });
  });

  test.each([
    [{ response_format: "url" }, "response_format"],
    [{ n: 0 }, "n"],
    [{ n: 11 }, "n"],
    [{ n: 1.5 }, "n"],
    [{ prompt: "" }, "prompt"],
    [{ prompt: 1 }, "prompt"],
    [{ stream: true }, "stream"],
    [{ model: undefined }, "model"],
  ])("%j is refused, and no provider is called", async (fields, param) => {
    const { requests } = services().images;
    const { status, body } = await generate<RestFailure>(fields);
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_body", param]);
    expect(services().images.requests).toBe(requests);
    await requireAvailable(stack().app, owner, { available: 10_000n });
  });

  test("a model of another service does not generate images", async () => {
    const { status, body } = await generate<RestFailure>({ model: EDIT.model });
    expect([status, body.error.code]).toEqual([404, "model_not_found"]);
  });

  test("the router's extension fields are not forwarded, and base64 is requested from the provider", async () => {
    const seen: string[] = [];
    services().images.onBody = (body) => void seen.push(body.toString("utf8"));
    await generate({
      verify_tee: false,
      provider: { sort: "price" },
      size: "8x8",
    });
    await generate({ size: "8x8" });
    expect(JSON.parse(seen[0] ?? "")).not.toHaveProperty("provider");
    expect(JSON.parse(seen[0] ?? "")).toMatchObject({ response_format: "b64_json", size: "8x8" });
    expect(seen[1]).toBe(
      JSON.stringify({ model: IMAGE.model, prompt: "a sea", size: "8x8", response_format: "b64_json" }),
    );
  });

  test("a repeat with its Idempotency-Key is generated and charged once", async () => {
    const headers = { "idempotency-key": "picture" };
    const first = await generate<Images>({}, headers);
    const second = await generate<Images>({}, headers);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    await requireAvailable(stack().app, owner, { available: 9_000n });
  });
});

describe("POST /v1/images/edits", () => {
  test("returns an image of the same size, and charges for one", async () => {
    const { status, body } = await edit<Images>();
    expect(status).toBe(200);
    expect(sizeOfPng(Buffer.from(body.data[0]?.b64_json ?? "", "base64"))).toEqual({ width: 8, height: 4 });
    await requireAvailable(stack().app, owner, { available: 8_000n });
  });

  test("a form that requests base64 is forwarded byte for byte", async () => {
    const seen: Buffer[] = [];
    services().edits.onBody = (bytes) => void seen.push(bytes);
    const { contentType, bytes } = await encoded(formOf({ response_format: "b64_json" }));
    const reply = await post<Images>(bytes, contentType);
    expect(reply.status).toBe(200);
    expect(seen[0]?.equals(bytes)).toBe(true);
  });

  test.each([
    ["no image", { image: undefined }, "image"],
    ["an empty image", { image: new Blob([]) }, "image"],
    ["no prompt", { prompt: undefined }, "prompt"],
    ["response_format url", { response_format: "url" }, "response_format"],
    ["too many images", { n: "11" }, "n"],
    ["another file", { other: new Blob(["x"]) }, "other"],
  ])("%s is refused, and no provider is called", async (_what, fields, param) => {
    const { requests } = services().edits;
    const { status, body } = await edit<RestFailure>(fields);
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_body", param]);
    expect(services().edits.requests).toBe(requests);
    await requireAvailable(stack().app, owner, { available: 10_000n });
  });

  test("a truncated form, one without a boundary, or a body that is not a form is refused", async () => {
    const { contentType, bytes } = await encoded(formOf());
    expect((await post<RestFailure>(bytes.subarray(0, -8), contentType)).status).toBe(400);
    expect((await post<RestFailure>(bytes, "multipart/form-data")).status).toBe(400);
    const asJson = await post<RestFailure>(Buffer.from("{}"), "application/json");
    expect([asJson.status, asJson.body.error.code]).toEqual([415, "unsupported_media_type"]);
    const large = await post<RestFailure>(Buffer.alloc(25 * 1_048_576 + 1), contentType);
    expect([large.status, large.body.error.code]).toEqual([413, "body_too_large"]);
  });

  test("a form with another boundary is the same request, and charged once by its Idempotency-Key", async () => {
    const headers = { "idempotency-key": "edit" };
    const first = await edit<Images>({}, headers);
    const second = await edit<Images>({}, headers);
    expect(second.body).toEqual(first.body);
    const other = await edit<RestFailure>({ prompt: "else" }, headers);
    expect([other.status, other.body.error.code]).toEqual([422, "idempotency_key_reused"]);
    await requireAvailable(stack().app, owner, { available: 8_000n });
  });

  test("a form is refused where JSON is required", async () => {
    const { contentType, bytes } = await encoded(formOf());
    const reply = await fetch(`${stack().origin}/v1/images/generations`, {
      method: "POST",
      headers: { "content-type": contentType, authorization: `Bearer ${owner.secret}` },
      body: bytes,
    });
    expect(reply.status).toBe(415);
  });
});

function generate<T>(fields: object, headers: Record<string, string> = {}) {
  const body = { model: IMAGE.model, prompt: "a sea", ...fields };
  return rest<T>(stack().origin, "/v1/images/generations", owner.secret, { body, headers });
}

async function edit<T>(fields: Readonly<Record<string, string | Blob | undefined>> = {}, headers = {}) {
  const { contentType, bytes } = await encoded(formOf(fields));
  return post<T>(bytes, contentType, headers);
}

function formOf(fields: Readonly<Record<string, string | Blob | undefined>> = {}): FormData {
  const image = new Blob([new Uint8Array(drawImage("x", { width: 8, height: 4 }))], { type: "image/png" });
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: EDIT.model, prompt: "a tree", image, ...fields }))
    if (value !== undefined) form.set(name, value);
  return form;
}

async function encoded(form: FormData) {
  const request = new Request("http://127.0.0.1/", { method: "POST", body: form });
  const contentType = request.headers.get("content-type") ?? "";
  return { contentType, bytes: Buffer.from(await request.arrayBuffer()) };
}

async function post<T>(bytes: Buffer, contentType: string, headers: Record<string, string> = {}) {
  const reply = await fetch(`${stack().origin}/v1/images/edits`, {
    method: "POST",
    headers: { "content-type": contentType, authorization: `Bearer ${owner.secret}`, ...headers },
    body: new Uint8Array(bytes),
  });
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as T };
}

function json(value: unknown) {
  return { status: 200, contentType: "application/json", body: JSON.stringify(value) };
}
