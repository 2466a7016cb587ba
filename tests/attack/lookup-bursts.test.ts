// @module-tag large
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { rawRequest } from "../support/attack/attack.ts";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { openHttpCrowd } from "../support/attack/http-crowd.ts";
import { seedAccount } from "../support/seed.ts";
import { createServerDatabase } from "../support/servers/database.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const MAX_TURN_MS = 60;
const CLIENTS = 1_000;

let url: string;
const stack = useStack(async (onEnd) => {
  url = await createServerDatabase(onEnd);
  return { DATABASE_URL: url };
});
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test("hundreds of requests whose credentials one statement looks up go on in short turns", async () => {
  const { app, origin } = stack();
  const { account } = await seedAccount(app.database, 1n);
  const keys = Array.from({ length: 20 }, () => app.managementKeys.create(account, newId(), ["keys:read"]));
  const secrets = (await Promise.all(keys)).map(({ secret }) => secret);
  const body = JSON.stringify({ query: "{ models(first: 20) { edges { node { id } } } }" });
  const requests = secrets.map((secret) =>
    rawRequest("POST", "/graphql", body, { authorization: `Bearer ${secret}` }).toString(),
  );
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  ends.push(() => client.end());
  /** The clients' requests wait for the first lookup, which the lock holds up. */
  const prepare = async () => {
    const crowd = await openHttpCrowd(origin, CLIENTS);
    ends.push(() => crowd.close());
    await client.query("begin; lock table management_key in access exclusive mode");
    await crowd.send(requests);
    // It is answered in its turn, after those.
    await fetch(`${origin}/v1/models`);
    return crowd;
  };
  const turnMs = await repeatedTurnMs(
    MAX_TURN_MS,
    async (crowd) => {
      await client.query("commit");
      await until(async () => (await crowd.count()).answered === CLIENTS);
      expect((await crowd.count()).statuses).toEqual({ 200: CLIENTS });
    },
    prepare,
  );
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
});
