// @module-tag large
import { randomBytes } from "node:crypto";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rawGet } from "../../support/clients/raw-http.ts";
import { useStack } from "../../support/stack.ts";
import { startPublisher } from "../../support/storage/publisher.ts";

const stack = useStack({ STORAGE_STATUS: "legacy", STORAGE_CACHE_MIB: "0" });
const UNKNOWN = `0x${"1".repeat(64)}`;

test("with STORAGE_STATUS=legacy the statuses are those of the original gateway: 200 and 600", async () => {
  const publisher = await startPublisher(stack());
  const answerOf = async (path: string, headers: Record<string, string> = {}) => {
    const { status, body } = await rawGet(stack().origin, path, { headers });
    const { code, data } = JSON.parse(body.toString());
    return [status, code, data];
  };
  expect(await answerOf(`/file?root=${UNKNOWN}`)).toEqual([200, 101, null]);
  expect(await answerOf("/file")).toEqual([200, 1, "Either 'root' or 'txSeq' must be provided"]);
  expect(await answerOf("/file/info/x")).toEqual([200, 1, expect.stringMatching(/^A file id is/)]);
  const file = await publisher.publish(randomBytes(1_000));
  expect(await answerOf(`/file/${file.root}/a`)).toEqual([200, 106, "invalid magic bytes"]);
  expect(await answerOf(`/file?root=${file.root}`, { range: "bytes=1000-" })).toEqual([
    416,
    1,
    "The file has 1000 bytes.",
  ]);
  expect((await publisher.post({ root: UNKNOWN, ...file.segments[0] })).status).toBe(200);
  const folder = join(stack().app.config.DATA_DIR, "storage");
  const name = (await readdir(folder, { recursive: true })).find((found) =>
    found.includes(file.root.slice(2)),
  );
  const handle = await open(join(folder, name ?? ""), "r+");
  await handle.write(randomBytes(256), 0, 256, 0);
  await handle.close();
  const [status, code, text] = await answerOf(`/file?root=${file.root}`);
  expect([status, code]).toEqual([600, 2]);
  expect(text).not.toMatch(/\/|stack|Error:/);
  // A download has the status of HTTP.
  const whole = await publisher.publish(randomBytes(1_000));
  expect((await rawGet(stack().origin, `/file?root=${whole.root}`)).status).toBe(200);
});
