// @module-tag large
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/db/open.ts";
import { scaled } from "../support/machine.ts";
import { makeCertificates, type TestCertificates } from "../support/servers/certificates.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { startPostgres } from "../support/servers/postgres.ts";
import { newFolder } from "../support/servers/process.ts";

const skipped = !inject("postgresUrl");

describe.skipIf(skipped)("a server that accepts only TLS, with a certificate for localhost", () => {
  let files: TestCertificates;
  let port: string;

  const ends: (() => Promise<void>)[] = [];
  const onEnd: OnEnd = (end) => void ends.unshift(end);
  afterAll(async () => {
    for (const end of ends) await end();
  });
  beforeAll(async () => {
    files = makeCertificates(newFolder(onEnd), "localhost");
    const server = await startPostgres(files.server);
    onEnd(() => server.stop());
    port = new URL(server.url).port;
  });

  const open = async (host: string, query: string) => {
    const url = `postgresql://postgres@${host}:${port}/postgres?${query}`;
    const database = await openDatabase({ kind: "server", url, poolSize: 2 });
    onTestFinished(() => database.close());
    return database;
  };
  const root = (file: string) => `sslrootcert=${encodeURIComponent(file)}`;

  test("every connection is encrypted and verified, and stays usable after a slow statement", async () => {
    const database = await open(
      "localhost",
      `sslmode=verify-full&${root(files.authority)}&application_name=asked`,
    );
    const encrypted =
      "select ssl, application_name from pg_stat_ssl join pg_stat_activity using (pid) where pid = pg_backend_pid()";
    const expected = [{ ssl: true, application_name: "asked" }];
    expect(await database.rows(encrypted)).toEqual(expected);
    expect(await database.transaction((tx) => tx.rows(encrypted))).toEqual(expected);
    expect(await database.reads.rows("account", { text: encrypted, values: [] })).toEqual(expected);
    // Long enough for the watchdog to query the server over its own connection.
    await database.rows("select pg_sleep(2)");
    expect(await database.rows(encrypted)).toEqual(expected);
  });

  test("a read is cancelled over TLS", async () => {
    const database = await open("localhost", `sslmode=verify-full&${root(files.authority)}`);
    const abort = new AbortController();
    const text = "select pg_sleep(60)";
    const read = database.reads.rows("account", { text, values: [] }, abort.signal);
    const running = "select 1 from pg_stat_activity where state = 'active' and query = $1";
    await expect.poll(() => database.rows(running, [text]), { timeout: scaled(10_000) }).toHaveLength(1);
    abort.abort();
    await expect(read).rejects.toMatchObject({ code: "unavailable" });
    await expect.poll(() => database.rows(running, [text]), { timeout: scaled(4_000) }).toHaveLength(0);
  });

  test("an unverifiable server is refused: another name, also that of an IP address, and another authority", async () => {
    const ca = root(files.authority);
    const other = root(files.otherAuthority);
    await expect(open("127.0.0.1", `sslmode=verify-full&${ca}`)).rejects.toThrow(
      /^DATABASE_URL: 127\.0\.0\.1:\d+\/postgres cannot be used \(.*IP: 127\.0\.0\.1 is not/,
    );
    for (const mode of ["require", "verify-ca", "verify-full"])
      await expect(open("localhost", `sslmode=${mode}&${other}`), mode).rejects.toThrow(/certificate/);
    await expect(open("localhost", "sslmode=verify-full")).rejects.toThrow(/certificate/);
    await open("127.0.0.1", `sslmode=verify-ca&${ca}`);
    await open("127.0.0.1", "sslmode=require");
  });
});

test.skipIf(skipped)("a server without TLS is refused where encryption is required", async () => {
  const url = `${inject("postgresUrl")}?sslmode=require`;
  await expect(openDatabase({ kind: "server", url, poolSize: 2 })).rejects.toThrow(/does not support SSL/);
});
