// @module-tag large
import { describe, expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { openSession } from "../support/callers.ts";
import { startConsensus } from "../support/chain/node-parts.ts";
import { ask } from "../support/clients/graph-client.ts";
import { seedAccount } from "../support/seed.ts";
import { freePort } from "../support/servers/postgres.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const OPERATOR = `0x${"0e".repeat(20)}`;
const consensusPort = await freePort();
const stack = useStack({
  NODE_OPERATORS: `0x${"0E".repeat(20)}`,
  NODE_CONSENSUS_URL: `http://127.0.0.1:${consensusPort}`,
});

const STATUS = `{ operatorNode { consensus { state detail latestHeight catchingUp validatorAddress }
  execution { state detail blockNumber } engine { state takesSecret }
  preflight { rule verdict detail next } } }`;

describe("the operator's node in the graph", () => {
  test("is shown to an operator's key and session, part by part", async () => {
    const { app, origin } = stack();
    const key = await app.managementKeys.create(OPERATOR, newId(), ["account:read"]);
    const down = await ask(origin, key.secret, STATUS);
    expect(down.errors ?? []).toEqual([]);
    expect(down.data.operatorNode.consensus).toMatchObject({ state: "UNREACHABLE", latestHeight: null });

    await startConsensus(consensusPort);
    const session = await openSession(app, OPERATOR);
    await until(async () => {
      const { data } = await ask(
        origin,
        session,
        "{ operatorNode { consensus { state latestHeight catchingUp } } }",
      );
      expect(data.operatorNode.consensus).toEqual({
        state: "ANSWERING",
        latestHeight: "1000",
        catchingUp: false,
      });
    });
    expect(down.data.operatorNode.execution).toEqual({
      state: "UNSET",
      detail: "NODE_EXECUTION_URL is not set.",
      blockNumber: null,
    });
    expect(down.data.operatorNode.engine).toEqual({ state: "UNSET", takesSecret: null });
    expect(down.data.operatorNode.preflight).toHaveLength(13);
    expect(down.data.operatorNode.preflight.map(({ verdict }: { verdict: string }) => verdict)).not.toContain(
      "PASS",
    );
  });

  test("is shown to no other credential, and no client request names its address", async () => {
    const { app, origin } = stack();
    const { account } = await seedAccount(app.database, 0n);
    const { secret } = await app.managementKeys.create(account, newId(), ["account:read"]);
    const refused = await ask(origin, secret, "{ operatorNode { consensus { state } preflight { rule } } }");
    expect(refused.data.operatorNode).toEqual({ consensus: null, preflight: null });
    expect(refused.errors?.map(({ extensions }) => extensions?.code)).toEqual([
      "access_denied",
      "access_denied",
    ]);
    const pointed = await ask(
      origin,
      secret,
      '{ operatorNode(url: "http://127.0.0.1:1") { consensus { state } } }',
    );
    expect(pointed.errors?.[0]?.message).toMatch(/Unknown argument "url"/);
  });
});

test("every caller may query what a message means and how clients are switched", async () => {
  const { data, errors } = await ask(
    stack().origin,
    undefined,
    `{ operatorNode {
      import: diagnose(message: "block number 150 does not match parent block number 99") {
        kind cause next never blockNumber parentBlockNumber retrimFrom stateRoots { got } }
      nothing: diagnose(message: "all is well") { kind }
      switchPlan(from: GETH, to: RETH) { from to notes
        steps { order stepId title why command destructive checks { kind subject expected } } rollback { order stepId } } } }`,
  );
  expect(errors ?? []).toEqual([]);
  expect(data.operatorNode.import).toMatchObject({
    kind: "INTERRUPTED_IMPORT",
    blockNumber: "150",
    parentBlockNumber: "99",
    retrimFrom: "100",
    stateRoots: null,
  });
  expect(data.operatorNode.nothing).toBeNull();
  expect(data.operatorNode.switchPlan).toMatchObject({ from: "GETH", to: "RETH" });
  expect(data.operatorNode.switchPlan.steps).toHaveLength(12);
  const same = await ask(
    stack().origin,
    undefined,
    "{ operatorNode { switchPlan(from: GETH, to: GETH) { from } } }",
  );
  expect(same.errors?.[0]?.extensions).toMatchObject({ code: "invalid_parameter", param: "to" });
});
