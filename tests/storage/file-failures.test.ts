// @module-tag large
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { ask } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { useStack } from "../support/stack.ts";
import { prepareFile, startPublisher } from "../support/storage/publisher.ts";

const stack = useStack();
const UPLOAD =
  "mutation ($input: UploadSegmentInput!) { uploadSegment(input: $input) { outcome userErrors { message code } } }";

type Envelope = { readonly code: number; readonly message: string; readonly data: string | null };

test("the error for a file that is not found has one text on REST, JSON-RPC and GraphQL", async () => {
  const file = prepareFile(randomBytes(600));
  const { origin } = stack();
  const input = { root: file.root, ...file.segments[0] };
  const replies = [
    await rest<Envelope>(origin, `/file?root=${file.root}`),
    await rest<Envelope>(origin, "/file?txSeq=999999"),
    await rest<Envelope>(origin, `/file/info/${file.root}`),
    await rest<Envelope>(origin, `/file/${file.root}`),
    await rest<Envelope>(origin, `/file/${file.root}/path`),
    await rest<Envelope>(origin, "/file/segment", undefined, { body: input }),
  ];
  for (const { status, body } of replies)
    expect([status, body]).toEqual([404, { code: 101, message: "File not found", data: null }]);
  const { data } = await ask(origin, undefined, UPLOAD, { input });
  expect(data.uploadSegment).toEqual({
    outcome: null,
    userErrors: [{ message: "File not found", code: "file_not_found" }],
  });
  // As the original node spells it.
  const call = { jsonrpc: "2.0", id: 1, method: "indexer_getFileLocations", params: [file.root] };
  const { body } = await rest<{ error: object }>(origin, "/", undefined, { body: call });
  expect(body.error).toMatchObject({ code: -32_000, message: "file not found" });
});

test("the error for an incomplete file has one text on REST and GraphQL", async () => {
  const file = prepareFile(randomBytes(600_000));
  const { origin } = stack();
  await (await startPublisher(stack())).submit(file);
  const { status, body } = await rest<Envelope>(origin, `/file?root=${file.root}`);
  expect([status, body]).toEqual([409, { code: 103, message: "File not finalized yet", data: null }]);
  const { errors } = await ask(
    origin,
    undefined,
    `{ file(root: "${file.root}") { entries { nodes { name } } } }`,
  );
  expect(errors?.[0]).toMatchObject({
    message: "File not finalized yet",
    extensions: { code: "file_not_finalized" },
  });
});
