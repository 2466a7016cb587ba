// @module-tag large
import { expect, test } from "vitest";
import { DEMO_USER, TOKEN_RECEIVER } from "../../../src/devnet/chain/accounts.ts";
import { proveTransfer } from "../../../src/devnet/chain/agent-proofs.ts";
import { createSampleToken } from "../../../src/devnet/sample-token.ts";
import { lowerHex } from "../../../src/kernel/text/hex.ts";
import { agentNft, startAgentChain, watchAgents } from "../../support/chain/agent-chain.ts";
import { randomHex } from "../../support/chain/agents.ts";
import { openTestDatabase } from "../../support/servers/database.ts";

const [OWNER, OTHER] = [lowerHex(DEMO_USER.address), lowerHex(TOKEN_RECEIVER.address)];

test("a new development network has one sample token with a history, the same on every chain, and gets no second one", async () => {
  const histories: unknown[] = [];
  for (const _ of [1, 2]) {
    const chain = await startAgentChain();
    const { watcher, tokens, caughtUp } = watchAgents(await openTestDatabase(), { url: chain.url });
    watcher.start();
    await createSampleToken(chain.url);
    const height = await chain.height();
    await createSampleToken(chain.url);
    expect(await chain.height()).toBe(height);
    await caughtUp();
    const key = { contract: agentNft(), tokenId: 0n };
    expect(await tokens.byKeys([key])).toMatchObject([{ owner: OWNER, movedWithoutKey: false }]);
    expect(await tokens.usersOf([key])).toEqual([[OTHER]]);
    expect(await tokens.byKeys([{ ...key, tokenId: 1n }])).toMatchObject([{ owner: OTHER, clonedFrom: 0n }]);
    const { rows } = await tokens.events(key, { first: 100 });
    histories.push(rows.map(({ kind, from, to, withKey }) => ({ kind, from, to, withKey })));
  }
  const of = (kind: string, from: string | null, to: string | null, withKey: boolean | null = null) => ({
    kind,
    from,
    to,
    withKey,
  });
  const [first, second] = histories;
  expect(first).toEqual([
    of("authorized", OWNER, OTHER),
    of("cloned", OWNER, OTHER),
    of("key_sealed", OTHER, OWNER),
    of("transferred", OTHER, OWNER, true),
    of("key_sealed", OWNER, OTHER),
    of("transferred", OWNER, OTHER, true),
    of("data_set", null, null),
    of("minted", null, OWNER, false),
  ]);
  expect(second).toEqual(first);
});

test("the development network makes proofs for its own accounts only", async () => {
  await expect(proveTransfer(randomHex(20), [randomHex(32)])).rejects.toMatchObject({
    code: "invalid_parameter",
    param: "to",
  });
  const many = Array.from({ length: 101 }, () => randomHex(32));
  await expect(proveTransfer(OWNER, many)).rejects.toMatchObject({ param: "dataHashes" });
  const stopped = AbortSignal.abort(new Error("the client left"));
  await expect(proveTransfer(OWNER, [randomHex(32)], { signal: stopped })).rejects.toThrow();
  const [one, other] = await Promise.all([1, 2].map(() => proveTransfer(OWNER, [randomHex(32)])));
  expect(one?.[0]?.accessProof.nonce).not.toBe(other?.[0]?.accessProof.nonce);
});
