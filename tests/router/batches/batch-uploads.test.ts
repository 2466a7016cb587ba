// @module-tag large
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { beforeEach, expect, test } from "vitest";
import { FileCipher } from "../../../src/client-files/file-cipher.ts";
import { readFileId } from "../../../src/client-files/file-id.ts";
import { BatchClient } from "../../support/batches/batch-world.ts";
import { chunkOf } from "../../support/chunk.ts";
import { useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

const MIB = 1_048_576;
const QUOTA = 20 * MIB;
const BOUNDARY = "form-boundary";
const HEAD = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="input.jsonl"\r\n\r\n`;
const TAIL = `\r\n--${BOUNDARY}--\r\n`;

const router = await useRouter({
  models: ["batch-model"],
  settings: { BATCH_FILE_MIB: "16", BATCH_FILES_MIB: String(QUOTA / MIB) },
});

let owner: Seeded;
let client: BatchClient;
beforeEach(async () => {
  owner = await router().seed();
  client = new BatchClient(router(), owner);
});

test.each([
  ["of an announced size", `content-length: ${12 * MIB}`, (bytes: Buffer) => bytes],
  ["of an unknown size", "transfer-encoding: chunked", chunkOf],
])("an upload %s counts no more once its client left", async (_, header, framed) => {
  const { hostname, port } = new URL(router().origin);
  for (let n = 0; n < 3; n++) {
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write(
      `POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${owner.secret}\r\n` +
        `content-type: multipart/form-data; boundary=${BOUNDARY}\r\n${header}\r\n\r\n`,
    );
    socket.write(framed(Buffer.from(HEAD)));
    socket.write(framed(Buffer.alloc(3 * MIB, "x")));
    await until(async () => (await stored()).parts >= 11);
    socket.destroy();
    await until(async () => (await stored()).files === 0);
  }
  expect(await stored()).toEqual({ files: 0, bytes: 0, parts: 0 });
  await client.upload(Buffer.alloc(15 * MIB, "x"));
});

test("uploads of an unknown size count what they have, so many small ones succeed at once", async () => {
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => uploadChunked([Buffer.from(`${n}`)])),
  );
  expect(new Set(answers)).toEqual(new Set([200]));
  expect(await stored()).toEqual({ files: 30, bytes: 50, parts: 30 });
});

test("uploads of an unknown size cannot exceed the quota together, and a refused one leaves nothing", async () => {
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() => uploadChunked(Array.from({ length: 14 }, () => Buffer.alloc(MIB / 2, "x")))),
  );
  const accepted = answers.filter((status) => status === 200).length;
  // Those that grow at once may all be refused, but never accepted.
  expect(answers).toContain(413);
  expect(answers.filter((status) => status !== 413)).toEqual(Array.from({ length: accepted }, () => 200));
  expect(await stored()).toMatchObject({ files: accepted, bytes: accepted * 7 * MIB });
  const roomBytes = QUOTA - accepted * 7 * MIB;
  expect(await uploadChunked(filled(Math.min(roomBytes, 16 * MIB) + 1))).toBe(413);
  expect(await uploadChunked(filled(Math.min(roomBytes, 16 * MIB)))).toBe(200);
});

test("a long name of a file is cut between characters", async () => {
  const name = `${"a".repeat(254)}\u{1f30a}`;
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob(["{}"]), name);
  const { origin } = router();
  const headers = { authorization: `Bearer ${owner.secret}` };
  const reply = await fetch(`${origin}/v1/files`, { method: "POST", headers, body: form });
  expect(await reply.json()).toMatchObject({ filename: "a".repeat(254) });
});

test("the content of a file that was stored under another secret is refused, and says so", async () => {
  const { id } = await client.upload("text");
  const rowId = readFileId(id);
  const sealed = new FileCipher("deployment", "another-secret").newKey(rowId);
  await router().app.database.rows(
    "update client_file set sealed_key = decode($2::text, 'hex') where id = $1::uuid",
    [rowId, sealed.toString("hex")],
  );
  await expect(client.openai.files.content(id)).rejects.toMatchObject({
    status: 412,
    code: "precondition_failed",
    message: expect.stringContaining("BATCH_FILES_SECRET"),
  });
  // A batch of it could never run: after the rotation no process reads both its input and its answers.
  await expect(
    client.openai.batches.create({
      input_file_id: id,
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
    }),
  ).rejects.toMatchObject({ status: 412, code: "precondition_failed", param: "input_file_id" });
  expect((await client.openai.batches.list()).data).toEqual([]);
  expect(await client.openai.files.retrieve(id)).toMatchObject({ id });
  expect(await client.openai.files.delete(id)).toMatchObject({ deleted: true });
});

/** Uploads content without announcing its size. Returns the status. */
async function uploadChunked(content: readonly Buffer[]): Promise<number> {
  const request = httpRequest(`${router().origin}/v1/files`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${owner.secret}`,
      "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  request.on("response", (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  // A refused upload may be cut off after its answer.
  request.on("error", reject);
  for (const bytes of [Buffer.from(HEAD), ...content, Buffer.from(TAIL)]) request.write(bytes);
  request.end();
  return promise;
}

/** Content of this size. */
function filled(sizeBytes: number): readonly Buffer[] {
  return [Buffer.alloc(sizeBytes, "x")];
}

/** What counts against the quota of the account, and the parts that are stored. */
async function stored() {
  const [row] = await router().app.database.rows<{ files: number; bytes: number; parts: number }>(
    `select count(*)::int as files, coalesce(sum(size_bytes), 0)::int as bytes, (
       select count(*)::int from client_file_part p join client_file f on f.id = p.file_id where f.account = $1::text
     ) as parts
     from client_file where account = $1::text`,
    [owner.account],
  );
  return row ?? { files: 0, bytes: 0, parts: 0 };
}
