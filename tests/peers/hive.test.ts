import { readFileSync } from "node:fs";
import { buildSchema } from "graphql";
import { describe, expect, inject, test } from "vitest";
import { readExamples } from "../../scripts/examples.ts";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { MODEL } from "../support/chain/network.ts";
import { ask, followEvents, type GraphResult } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { seedAccount } from "../support/seed.ts";
import { ROUTER_SECRET, startRemoteGateway } from "../support/servers/remote-gateway.ts";
import { useStack, useStarted } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { HIVE_KINDS, startHive } from "./hive.ts";

const examples = readExamples(buildSchema(readFileSync("schema/api.graphql", "utf8")));
const queries = examples.filter(({ text }) => text.startsWith("query"));

describe.skipIf(!inject("hasPeers"))("behind Hive Gateway", () => {
  const stack = useStack();
  const ours = useStarted((onEnd) =>
    startRemoteGateway(stack(), (end) => onEnd(async () => void (await end()))),
  );
  const owner = useStarted(async () => {
    const { app, origin } = stack();
    const seeded = await seedAccount(app.database, 10n ** 20n);
    const { secret } = await app.managementKeys.create(seeded.account, "all", [...SCOPES]);
    const body = { model: MODEL, messages: [{ role: "user", content: "Hello" }] };
    const chat = await rest<{ id: string }>(origin, "/v1/chat/completions", seeded.secret, { body });
    const requestId = chat.headers.get("x-request-id") ?? "";
    await until(
      async () => (await app.requests.byIds(seeded.account, [requestId]))[0]?.status === "completed",
    );
    return { ...seeded, managementKey: secret, requestId };
  });
  const variables = () => ({
    id: owner().requestId,
    model: MODEL,
    account: owner().account,
    owner: owner().account,
    root: `0x${"1".repeat(64)}`,
    streamId: `0x${"2".repeat(64)}`,
    contract: `0x${"3".repeat(40)}`,
    tokenId: "1",
    user: owner().account,
    epoch: "0",
    message: "Invalid forkchoice state",
  });

  describe.each(Object.keys(HIVE_KINDS) as (keyof typeof HIVE_KINDS)[])("by %s", (kind) => {
    const hive = useStarted((onEnd) =>
      startHive(kind, { urls: ours().urls, routerSecret: ROUTER_SECRET }, onEnd),
    );

    test("a request is joined over three subgraphs", async () => {
      const query = `query ($id: ID!) {
        request(id: $id) { status apiKey { keyId } account { balance { held } } provider { onChain { modelId } } }
      }`;
      const { data } = await ask(hive(), owner().managementKey, query, { id: owner().requestId });
      expect(data).toEqual({
        request: {
          status: "COMPLETED",
          apiKey: { keyId: owner().keyId },
          account: { balance: { held: "0" } },
          provider: { onChain: { modelId: MODEL } },
        },
      });
    });

    test("a key is created by a mutation, is accepted, and is refused once it is revoked", async () => {
      const make = 'mutation { createApiKey(input: { name: "behind a router" }) { secret apiKey { id } } }';
      const { data } = await ask(hive(), owner().managementKey, make);
      const { secret, apiKey } = data.createApiKey;
      const viewer = "{ viewer { kind } }";
      expect(await ask(hive(), secret, viewer)).toMatchObject({ data: { viewer: { kind: "API_KEY" } } });
      await ask(
        hive(),
        owner().managementKey,
        `mutation { revokeApiKey(input: { id: "${apiKey.id}" }) { apiKey { status } } }`,
      );
      const refused = await ask(hive(), secret, viewer);
      expect(refused.errors).toMatchObject([{ extensions: { code: "api_key_revoked" } }]);
    });

    test("fields that need a credential are refused without one, and with a wrong one", async () => {
      const query = 'mutation { createSignInNonce { nonce } createApiKey(input: { name: "x" }) { secret } }';
      expect((await ask(hive(), undefined, query)).errors).toMatchObject([
        { path: ["createApiKey"], extensions: { code: "missing_authorization" } },
      ]);
      const wrong = await ask(hive(), "sk-nobody", "{ viewer { kind } }");
      expect(wrong.errors).toMatchObject([{ extensions: { code: "invalid_api_key" } }]);
    });

    test("a subscription sends its events, completed by other subgraphs, and ends with its key", async () => {
      const { app } = stack();
      const { account } = owner();
      const { key, secret } = await app.managementKeys.create(account, `watching by ${kind}`, [
        "keys:read",
        "account:read",
      ]);
      const before = app.events.openStreams;
      const query =
        "subscription { keyChanged { change apiKey { name } account { address balance { held } } } }";
      const following = await followEvents(hive(), secret, query, "/graphql");
      await until(() => app.events.openStreams > before);
      await app.apiKeys.create(account, `seen by ${kind}`);
      await until(() => following.results.length === 1);
      expect(following.results[0]).toMatchObject({
        data: {
          keyChanged: {
            change: "CREATED",
            apiKey: { name: `seen by ${kind}` },
            account: { balance: { held: "0" } },
          },
        },
      });
      await app.managementKeys.revoke(account, key.id);
      await following.closed;
      await until(() => app.events.openStreams === before);
    });

    describe.each(["nobody", "an sk- key", "an mk- key"] as const)("asked by %s", (who) => {
      const secret = () =>
        ({ nobody: undefined, "an sk- key": owner().secret, "an mk- key": owner().managementKey })[who];
      test.each(queries)("$file is answered as our own gateway answers it", async ({ text }) => {
        const used = Object.entries(variables()).filter(([name]) => text.includes(`$${name}:`));
        const values = Object.fromEntries(used);
        const [theirs, mine] = await Promise.all([
          ask(hive(), secret(), text, values),
          ask(ours().origin, secret(), text, values),
        ]);
        expect(readable(theirs)).toEqual(readable(mine));
      });
    });
  });
});

/** The data, and which failures are at which path. */
function readable({ data, errors = [] }: GraphResult) {
  const failures = errors.map(({ path, extensions }) => `${path?.join(".")} ${extensions?.code}`);
  return { data, failures: failures.sort() };
}
