// @module-tag large
import { readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { PROVIDER } from "../../src/devnet/chain/accounts.ts";
import { ask } from "../support/clients/graph-client.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
afterEach(async () => {
  stack().provider.behaviour = {};
  await stack().app.attestations?.refresh();
});

const QUERY = `{ provider(address: "${PROVIDER.address}") { address attestation {
  passed quote advisories signerBound fresh measurement composeHash gpu collateralIssuedAt checkedAt failures
} } }`;

async function attestation() {
  const { data, errors } = await ask(stack().origin, undefined, QUERY);
  expect(errors).toBeUndefined();
  return data.provider.attestation;
}

test("the development network's provider is appraised at start, and its quote is not genuine", async () => {
  await until(async () => (await attestation()) !== null);
  expect(await attestation()).toEqual({
    passed: false,
    quote: null,
    advisories: [],
    signerBound: false,
    fresh: null,
    measurement: "UNPROVEN",
    composeHash: null,
    gpu: "ABSENT",
    collateralIssuedAt: null,
    checkedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    failures: ["Attestation failed: the quote has no Intel platform certificate."],
  });
});

test("a newer appraisal replaces the one before, with its time and its reason", async () => {
  await stack().app.attestations?.refresh();
  const before = await attestation();
  stack().provider.behaviour = { attestation: { status: 503, body: "{}" } };
  await stack().app.attestations?.refresh();
  const after = await attestation();
  expect(after.failures).toEqual(["The provider gave no attestation report."]);
  expect(after.checkedAt >= before.checkedAt).toBe(true);
});

test("a genuine quote without collateral does not pass", async () => {
  const body = readFileSync(new URL("../fixtures/attestation/broker.json", import.meta.url), "utf8");
  stack().provider.behaviour = { attestation: { status: 200, body } };
  await stack().app.attestations?.refresh();
  expect(await attestation()).toMatchObject({
    passed: false,
    failures: ["Intel's collateral for the quote could not be read."],
  });
});
