// @module-tag medium
import { describe, expect, test } from "vitest";
import { ask, followEvents, followSocket } from "../../support/clients/graph-client.ts";
import { seedAccount } from "../../support/seed.ts";
import { startRemoteGateway } from "../../support/servers/remote-gateway.ts";
import { type Stack, useStack, useStarted } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const OLD = "the secret before the rotation, of 32 characters and more";
const NEW = "the secret after the rotation, of 32 characters and more";
const NETWORK = "{ network { id } }";
const VIEWER = "{ viewer { kind } }";
const FOLLOW = "subscription { keyChanged { change } }";

const stack = useStack({ GRAPH_LIMITS: "resumeMs=500" });

/** Starts a gateway that signs with `secret`, over subgraphs that accept `secrets`; it ends with the file. */
const useGateway = (secret: string, secrets: readonly string[]) =>
  useStarted((onEnd) =>
    startRemoteGateway(stack(), (end) => onEnd(async () => void (await end())), { secret, secrets }),
  );

async function credential({ app }: Stack): Promise<string> {
  const { account } = await seedAccount(app.database, 1n);
  return (await app.managementKeys.create(account, "test", ["keys:read"])).secret;
}

const unavailable = (subgraph: string) => ({
  message: `The ${subgraph} subgraph cannot be reached.`,
  extensions: { code: "unavailable" },
});

describe("a gateway whose INTERNAL_SECRET the subgraphs do not accept", () => {
  const gateway = useGateway(NEW, [OLD]);
  const refusals = () =>
    stack()
      .logged()
      .split("\n")
      .filter((line) => line.includes("refuses"));

  test("answers `unavailable`, which clients retry, and never that the credential is invalid", async () => {
    const secret = await credential(stack());
    const { origin } = gateway();
    for (let n = 0; n < 3; n++) {
      expect((await ask(origin, secret, NETWORK)).errors).toMatchObject([unavailable("chain")]);
      expect((await ask(origin, secret, VIEWER)).errors).toMatchObject([unavailable("accounts")]);
    }
    for (const follow of [followEvents, followSocket]) {
      const following = await follow(origin, secret, FOLLOW);
      const errors = () => following.failure ?? following.results.at(-1)?.errors;
      await until(() => errors() !== undefined);
      expect(errors()).toMatchObject([{ extensions: { code: "unavailable" } }]);
      await following.stop();
    }
  });

  test("logs once a minute what to do, as the subgraph does, and says so in /readyz", async () => {
    await ask(gateway().origin, undefined, NETWORK);
    // A subscription that is refused is reported likewise.
    expect(stack().logged()).not.toContain("a subgraph request failed");
    const chain = refusals().filter((line) => line.includes("the subgraph chain refuses this gateway"));
    const own = refusals().filter((line) => line.includes("this process refuses a gateway"));
    for (const lines of [chain, own]) {
      expect(lines[0]).toMatch(/same INTERNAL_SECRET.*docs\/operations\.md/);
      expect(lines.length).toBeLessThanOrEqual(1 + performance.now() / 60_000);
    }
    expect(own[0]).toContain("the token was not signed with the INTERNAL_SECRET of this process");
    const ready = await fetch(`${gateway().origin}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([
      200,
      { parts: { processes: expect.stringContaining("the subgraph chain refuses this gateway") } },
    ]);
  });
});

describe("INTERNAL_SECRET is replaced without an outage, by INTERNAL_SECRET_ACCEPTED", () => {
  // Each step replaces processes one by one, so gateways of the step before meet subgraphs of the step, and the reverse.
  const before = { secret: OLD, secrets: [OLD] };
  const both = { secret: OLD, secrets: [OLD, NEW] };
  const replaced = { secret: NEW, secrets: [NEW, OLD] };
  const after = { secret: NEW, secrets: [NEW] };
  const met = [
    [before, both],
    [both, before],
    [both, replaced],
    [replaced, both],
    [replaced, after],
    [after, replaced],
  ] as const;
  const gateways = met.map(([{ secret }, { secrets }]) => useGateway(secret, secrets));

  test("every gateway is accepted by every subgraph in each step", async () => {
    const secret = await credential(stack());
    for (const gateway of gateways) {
      const { origin } = gateway();
      expect(await ask(origin, secret, "{ viewer { kind } network { id } }")).toEqual({
        status: 200,
        data: { viewer: { kind: "MANAGEMENT_KEY" }, network: { id: expect.anything() } },
      });
    }
  });
});
