// @module-tag large
import { randomBytes } from "node:crypto";
import { createTestClient, http } from "viem";
import { expect, test } from "vitest";
import { rest } from "../support/clients/rest-client.ts";
import { useStack } from "../support/stack.ts";
import { prepareFile, startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";

const stack = useStack();

type Info = { readonly data: { readonly finalized: boolean; readonly uploadedSegNum: number } | null };

test("a file whose submission is reverted is gone, and is complete again with the next submission, without an upload", async () => {
  const publisher = await startPublisher(stack());
  const file = await publisher.publish(randomBytes(700_000));
  const { app, origin, rpcUrl } = stack();
  const following = await app.progress.follow(file.root);
  expect((await following.next()).value.data).toMatchObject({ status: "finalized", uploadedSegments: 3 });
  await following.return?.();

  const chain = createTestClient({ mode: "anvil", transport: http(rpcUrl) });
  await chain.request({ method: "anvil_reorg", params: [1, []] } as never);
  await until(async () => (await rest<Info>(origin, `/file/info/${file.root}`)).status === 404);
  expect((await fetch(`${origin}/file?root=${file.root}`)).status).toBe(404);
  const { step } = (await app.progress.read(file.root)) ?? {};
  expect(step).toMatchObject({ status: "removed", txSeq: null, uploadedSegments: 3 });

  await publisher.submit(file);
  const { body } = await rest<Info>(origin, `/file/info/${file.root}`);
  expect(body.data).toMatchObject({ finalized: true, uploadedSegNum: 3 });
  const reply = await fetch(`${origin}/file?root=${file.root}`);
  expect(Buffer.from(await reply.arrayBuffer()).equals(file.content)).toBe(true);
  const steps = await app.database.rows<{ status: string; sequence: string }>(
    `select data ->> 'status' as status, data ->> 'sequence' as sequence from outbox
     where topic = 'file.progressed' and subject = $1 order by id`,
    [file.root],
  );
  expect(steps.map(({ status }) => status)).toEqual([
    "submitted",
    "submitted",
    "submitted",
    "finalized",
    "removed",
    "submitted",
    "finalized",
  ]);
  expect(steps.map(({ sequence }) => Number(sequence))).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test("segments that arrived before their submission count once it is on chain", async () => {
  const publisher = await startPublisher(stack());
  const { app } = stack();
  const file = prepareFile(randomBytes(300_000));
  const following = await app.progress.follow(file.root);
  for (const { index, data, proof } of file.segments)
    await app.uploads.put({
      root: file.root,
      index,
      proof,
      data: Buffer.from(data, "base64"),
      sizeBytes: file.sizeBytes,
    });
  expect(await app.files.find([{ root: file.root }])).toEqual([undefined]);
  await publisher.submit(file);
  const seen: string[] = [];
  for await (const { data } of following)
    seen.push(`${data.status} ${data.uploadedSegments}/${data.segments}`);
  expect(seen).toEqual(["uploading 1/2", "uploading 2/2", "submitted 2/2", "finalized 2/2"]);
});
