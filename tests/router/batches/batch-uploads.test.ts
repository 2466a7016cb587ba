import { once } from "node:events";
import { connect } from "node:net";
import { beforeEach, expect, test } from "vitest";
import { BatchClient } from "../../support/batches/batch-world.ts";
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

/** A chunk of a body (RFC 9112, 7.1). */
function chunkOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
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
