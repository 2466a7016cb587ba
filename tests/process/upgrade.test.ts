// @module-tag large
import { readFileSync } from "node:fs";
import { buildSchema } from "graphql";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import type { Database } from "../../src/db/database.ts";
import { migrations } from "../../src/db/migrations/index.ts";
import { type DatabaseKind, openTestDatabase } from "../support/servers/database.ts";
import { newWriter } from "../support/storage/kv.ts";
import { prepareFile, startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";
import { call, patientRest, query } from "../upgrade/calls.ts";
import { replayAll } from "../upgrade/events.ts";
import { readEveryField } from "../upgrade/every-field.ts";
import { fieldValues } from "../upgrade/field-values.ts";
import { jobOf, repeat } from "../upgrade/fill-inference.ts";
import { contentOf, writeStream } from "../upgrade/fill-storage.ts";
import { type Fixture, LEDGER_TOTALS, listFixtures, readFixture } from "../upgrade/fixture.ts";
import { askAll } from "../upgrade/questions.ts";
import { readSchema, startUpgraded, type Upgraded } from "../upgrade/upgraded.ts";

const KINDS: readonly DatabaseKind[] = ["embedded", "server"];
const cases = listFixtures().flatMap((name) => KINDS.map((kind) => ({ name, kind })));
const BALANCE =
  "{ viewer { account { balance { total held } requests(first: 1) { nodes { cost { total } } } } } }";

describe.each(cases)("the data of $name ($kind)", ({ name, kind }) => {
  describe.skipIf(kind === "server" && !inject("postgresUrl"))("upgraded", () => testUpgrade(name, kind));
});

/** One start of the product for all tests, which build on each other. */
function testUpgrade(name: string, kind: DatabaseKind): void {
  const ends: (() => Promise<void>)[] = [];
  const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
  let fixture: Fixture;
  let upgraded: Upgraded;

  beforeAll(async () => {
    fixture = await readFixture(name);
    upgraded = await startUpgraded(fixture, kind, onEnd);
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });
  const target = () => upgraded.target;
  const filled = () => fixture.expected.filled;
  const statusOf = async (secret: string, path = "/v1/models", body?: object) =>
    (await patientRest(target().origin, path, secret, { body })).status;
  const chat = (secret: string, fields: object = {}) =>
    statusOf(secret, "/v1/chat/completions", {
      model: "devnet-chat",
      messages: [{ role: "user", content: "again" }],
      ...fields,
    });
  const account = async () => {
    const { reader } = filled().account.managementKeys;
    return (await query(target(), reader, BALANCE)).viewer.account;
  };

  test("gives the answers that the release gave", async () => {
    const { pages, ...answers } = await askAll(target(), filled());
    const { pages: expectedPages, ...expected } = fixture.expected.answers;
    expect(answers).toEqual(expected);
    expect(keysOf(pages)).toEqual(keysOf(expectedPages));
  });

  test("credentials work, or are refused, as before", async () => {
    const { apiKeys, managementKeys, session, endedSession } = filled().account;
    const statuses = await Promise.all([
      chat(apiKeys.expiring),
      chat(apiKeys.restricted),
      chat(apiKeys.restricted, { model: "devnet-image" }),
      chat(apiKeys.expired),
      chat(apiKeys.revoked),
      statusOf(managementKeys.admin, "/v1/api-keys"),
      statusOf(managementKeys.reader, "/v1/api-keys", { name: "refused" }),
      statusOf(managementKeys.revoked, "/v1/api-keys"),
      statusOf(endedSession, "/v1/auth/me"),
    ]);
    expect(statuses).toEqual([200, 200, 403, 401, 401, 200, 403, 401, 401]);
    if (kind === "server") expect(await statusOf(session, "/v1/auth/me")).toBe(200);
    for (const secret of upgraded.demoKeys) expect(upgraded.running.stdout()).toContain(secret);
  });

  test("jobs that were not over end, what the killed process held is released, and a chat is charged once", async () => {
    const { jobs, account: owner } = filled();
    const { plain } = owner.apiKeys;
    for (const id of [jobs.processing, jobs.pending])
      expect((await untilEnded(() => jobOf(target(), plain, id))).status).toBe("failed");
    const before = await until(async () => {
      const now = await account();
      return now.balance.held === "0" && now;
    });
    expect(await chat(plain)).toBe(200);
    const after = await account();
    const cost = BigInt(after.requests.nodes[0].cost.total);
    expect(cost).toBeGreaterThan(0n);
    expect(BigInt(before.balance.total) - BigInt(after.balance.total)).toBe(cost);
    await until(async () => (await account()).balance.held === "0");
  });

  test("usage is numbered per account, also what the release counted for all", async () => {
    for (const reader of [filled().account.managementKeys.reader, filled().small.reader]) {
      const path = "/v1/account/usage/history?limit=100";
      const { data } = await call<{ data: readonly { id: number }[] }>(target(), path, reader);
      expect(data.map(({ id }) => id)).toEqual(data.map((_, n) => data.length - n));
    }
  });

  test("stored files are whole, an upload continues, and a new file and key-value join the old ones", async () => {
    const { files, partial, stream } = filled().storage;
    for (const { root, sizeBytes, seed } of files) {
      const bytes = await download(`?root=${root}`);
      expect(bytes.length).toBe(sizeBytes);
      expect(prepareFile(bytes).root).toBe(root);
      if (seed !== undefined) expect(bytes.equals(contentOf(seed, sizeBytes))).toBe(true);
    }
    const [small] = files;
    const folder = files.at(-1);
    expect((await download(`/${folder?.root}/small`)).equals(await download(`?root=${small?.root}`))).toBe(
      true,
    );
    const { publish, post } = await startPublisher(target());
    const content = contentOf(partial.seed, partial.sizeBytes);
    expect(prepareFile(content).root).toBe(partial.root);
    const reply = await post({ root: partial.root, ...prepareFile(content).segments[partial.missing] });
    expect(reply.status, await reply.text()).toBe(200);
    expect((await download(`?root=${partial.root}`)).equals(content)).toBe(true);
    const file = await publish(contentOf(9, 400_000));
    expect((await download(`?root=${file.root}`)).equals(file.content)).toBe(true);
    const writer = await newWriter(target().rpcUrl);
    const { streamId } = stream;
    const own = `0x${"76".repeat(32)}`;
    await writeStream(target(), writer, { writes: [{ streamId: own, keyText: "name", text: "new" }] });
    const text = `{ old: kvValue(streamId: "${streamId}", keyText: "name") { text }
      own: kvValue(streamId: "${own}", keyText: "name") { text } }`;
    expect(await query(target(), undefined, text)).toEqual({ old: { text: "Ada L." }, own: { text: "new" } });
  });

  test("an order that was signed for the release is still good", async () => {
    const text = `query ($order: MarketOrderInput!, $signature: Hex!) {
      checkMarketOrder(order: $order, signature: $signature) { valid problems { text } } }`;
    const { checkMarketOrder } = await query(target(), undefined, text, filled().chain.openOrder);
    expect(checkMarketOrder).toEqual({ valid: true, problems: [] });
  });

  test.runIf(kind === "server")(
    "what was sent within a day is not executed again, events replay, and images are kept",
    async () => {
      const { plain } = filled().account.apiKeys;
      const { admin } = filled().account.managementKeys;
      const before = await account();
      for (const [name, secret] of [
        ["chat", plain],
        ["apiKey", admin],
      ] as const)
        expect(await repeat(target(), name, secret, [409])).toMatchObject({
          error: { code: "idempotency_not_replayable" },
        });
      expect((await account()).balance).toEqual(before.balance);
      await replayAll(target(), filled());
      const image = `{ imageJob(id: "${filled().jobs.completed}") { images { b64Json root file { root } } } }`;
      const { images } = await until(async () => {
        const { imageJob } = await query(target(), plain, image);
        return imageJob.images[0].file !== null && imageJob;
      });
      expect(prepareFile(Buffer.from(images[0].b64Json, "base64")).root).toBe(images[0].file.root);
    },
  );

  test.runIf(kind === "server" && name === listFixtures().at(-1))(
    "every field of the graph is read without a failure of ours",
    async () => {
      const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));
      const values = await fieldValues(target(), filled());
      const secret = filled().account.session;
      const { read, bugs } = await readEveryField({ origin: target().origin, secret, schema, values });
      expect(bugs).toEqual([]);
      expect(read.size).toBeGreaterThan(100);
      for (const type of ["JobImage", "ConsistencyProof", "KvEntry", "SealedKey"])
        expect(read).toContain(type);
    },
  );

  test("every migration is applied, the schema is that of a new installation, and the ledger is exact", async () => {
    expect(await upgraded.running.end("SIGTERM")).toEqual({ code: 0, signal: null });
    const database = await upgraded.openDatabase();
    const fresh = await openTestDatabase(kind);
    try {
      expect(await readSchema(database)).toEqual(await readSchema(fresh));
      const applied = await database.rows<{ name: string }>(
        "select name from mikro_orm_migrations order by id",
      );
      expect(applied.map((row) => row.name)).toEqual(migrations.map((migration) => migration.name));
      expect(await new LedgerService(database).verify()).toMatchObject({ faults: [], openHolds: 0 });
      await requireSameEntries(database, fixture);
    } finally {
      await database.close();
    }
  });

  async function download(path: string): Promise<Buffer> {
    const reply = await fetch(`${target().origin}/file${path}`);
    if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
    return Buffer.from(await reply.arrayBuffer());
  }
}

async function untilEnded<Job extends { readonly status: string }>(read: () => Promise<Job>): Promise<Job> {
  return until(async () => {
    const job = await read();
    return !["pending", "processing"].includes(job.status) && job;
  });
}

/** The entries that the release wrote, which nothing may change. */
async function requireSameEntries(database: Database, { expected: { ledger } }: Fixture): Promise<void> {
  const rows = await database.rows<{ book: string; neuron: string }>(LEDGER_TOTALS, [ledger.lastId]);
  expect(Object.fromEntries(rows.map(({ book, neuron }) => [book, neuron]))).toEqual(ledger.books);
}

/** The sort keys in the cursors of each list. Since cursors name their list, that comes before the key. */
function keysOf(pages: unknown): object {
  const lists = Object.entries(pages as Readonly<Record<string, readonly string[]>>);
  const keyOf = (cursor: string) => {
    const parts: readonly string[] = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    return LIST_NAME.test(parts[0] ?? "") ? parts.slice(1) : parts;
  };
  return Object.fromEntries(lists.map(([name, cursors]) => [name, cursors.map(keyOf)]));
}

/** No key begins with such a text. */
const LIST_NAME = /^[a-z]+(-[a-z]+)*$/;
