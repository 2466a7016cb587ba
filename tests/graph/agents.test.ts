// @module-tag large
import { getAddress, zeroAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { beforeAll, describe, expect, test } from "vitest";
import { flowAbi } from "../../src/chain/abi/flow.ts";
import { refusalName, refusalOf } from "../../src/chain/rpc/contract-error.ts";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { connectDevnet } from "../../src/devnet/chain/chain-client.ts";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import { type Hex, lowerHex } from "../../src/kernel/text/hex.ts";
import { agentNft, type Funded, handlesOf } from "../support/chain/agent-chain.ts";
import {
  type AgentData,
  agentProofs,
  iTransfer,
  mintAgent,
  newData,
  type Proof,
  type ProofOptions,
  publicKeyOf,
  randomHex,
  writeAgent,
} from "../support/chain/agents.ts";
import { receiptOf } from "../support/chain/receipt-of.ts";
import { ask, type Following, followEvents, followSocket } from "../support/clients/graph-client.ts";
import { scaled } from "../support/machine.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const CONTRACT = agentNft();
const ON_TIME_MS = 2_000;
const NEWS = `{ id cursor at removed sealedKey {
  id cause keyCount contract tokenId to { address } from { address } confirmations
  keys { index dataHash key truncated file { root } }
  token { id owner { address } movedWithoutKey authorizedUsers { address } dataHashes }
} }`;
const stack = useStack();

let chain: ReturnType<typeof handlesOf>;
beforeAll(() => {
  chain = handlesOf(stack().rpcUrl);
});

async function run(query: string, variables: object = {}) {
  const { data, errors } = await ask(stack().origin, undefined, query, variables);
  expect(errors).toBeUndefined();
  return data;
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever its own query asked for
const newsOf = ({ results }: Following, field = "publishedSealedKey"): any[] =>
  results.map(({ data }) => data[field]);

/** Signs and sends the prepared transaction. */
async function send(by: Funded, { to, data, value, from }: { to: Hex; data: Hex; value: string; from: Hex }) {
  expect(from).toBe(by.address);
  const { rpcUrl } = stack();
  const client = await connectDevnet(rpcUrl, by.privateKey);
  const hash = await client.sendTransaction({ to, data, value: BigInt(value) });
  return receiptOf(client, { hash, rpcUrl });
}

async function newToken({ pieces = 1 } = {}) {
  const owner = await chain.funded();
  const data = Array.from({ length: pieces }, () => newData());
  const { tokenId } = await mintAgent(stack().rpcUrl, { to: owner.address, data, byKey: owner.privateKey });
  return { owner, data, tokenId };
}

const MOVE = `($tokenId: BigInt!, $owner: Address!, $to: Address!, $from: Address, $proofs: [TransferProofInput!]!) {
  prepared: prepareTransfer(contract: "${CONTRACT}", tokenId: $tokenId, owner: $owner, to: $to, from: $from,
    proofs: $proofs) { chainId from to data value warnings } }`;

/** Proofs of which the second has another signature. */
function withProof(proofs: readonly Proof[], part: string, proof: string): Proof[] {
  return proofs.map((one, n) => ({
    accessProof: { ...one.accessProof, ...(n === 1 && part === "accessProof" && { proof: proof as Hex }) },
    ownershipProof: {
      ...one.ownershipProof,
      ...(n === 1 && part === "ownershipProof" && { proof: proof as Hex }),
    },
  }));
}

/** Proofs as GraphQL input. */
function toInput(proofs: readonly Proof[]): object[] {
  return proofs.map(({ accessProof, ownershipProof }) => ({
    accessProof,
    ownershipProof: { ...ownershipProof, oracleType: ownershipProof.oracleType === 0 ? "TEE" : "ZKP" },
  }));
}

describe("the life of an agent token", () => {
  test("it is minted, its receiver signs, the oracle seals, it moves, and the receiver gets its keys within 2 s over both transports", async () => {
    const { owner, data, tokenId } = await newToken({ pieces: 2 });
    const [receiver, user] = [await chain.funded(), privateKeyToAccount(generatePrivateKey())];
    const key = `contract: "${CONTRACT}", tokenId: "${tokenId}"`;
    const authorize = await run(
      `{ prepareAuthorizeUsage(${key}, user: "${user.address}") { from to data value warnings } }`,
    ).catch(() => undefined);
    expect(authorize?.prepareAuthorizeUsage).toMatchObject({ to: getAddress(CONTRACT), warnings: [] });
    await send(owner, authorize.prepareAuthorizeUsage);
    await until(async () => {
      const { agentToken } = await run(`{ agentToken(${key}) { authorizedUsers { address } } }`);
      return agentToken?.authorizedUsers.length === 1;
    });
    // The receiver signs what the graph returns, and the contract accepts it.
    const { accessProofTexts } = await run(
      `{ accessProofTexts(${key}) { index dataHash nonce targetPubkey text } }`,
    );
    expect(accessProofTexts.map(({ dataHash }: { dataHash: Hex }) => dataHash)).toEqual(
      data.map(({ dataHash }) => dataHash),
    );
    const made = await agentProofs(data, { to: receiver });
    const proofs = await Promise.all(
      made.map(async ({ ownershipProof }, n): Promise<Proof> => {
        const { dataHash, nonce, targetPubkey, text } = accessProofTexts[n];
        const proof = await receiver.signMessage({ message: text });
        return { accessProof: { dataHash, nonce, targetPubkey, proof }, ownershipProof };
      }),
    );
    const { prepared } = await run(`query ${MOVE}`, {
      tokenId: `${tokenId}`,
      owner: owner.address,
      to: receiver.address,
      proofs: toInput(proofs),
    });
    expect(prepared).toMatchObject({
      chainId: 16_602,
      value: "0",
      warnings: ["It ends the authorisation of 1 users."],
    });
    const inbox = `subscription { publishedSealedKey(to: "${receiver.address}") ${NEWS} }`;
    const followers = await Promise.all([
      followSocket(stack().origin, undefined, inbox),
      // Identical subscriptions would share a stream, and the test could not tell which one is open.
      followEvents(stack().origin, undefined, inbox.replace(NEWS, NEWS.replace("{", "{ __typename"))),
    ]);
    await until(() => stack().app.events.openStreams === 2);
    await send(owner, prepared);
    const minedMs = performance.now();
    await until(() => followers.every(({ results }) => results.length === 1));
    expect(performance.now() - minedMs).toBeLessThan(scaled(ON_TIME_MS));
    for (const follower of followers)
      expect(newsOf(follower)).toMatchObject([
        {
          removed: false,
          sealedKey: {
            cause: "TRANSFER",
            contract: getAddress(CONTRACT),
            tokenId: `${tokenId}`,
            from: { address: owner.address },
            to: { address: receiver.address },
            keys: made.map(({ ownershipProof }, index) => ({
              index,
              dataHash: data[index]?.dataHash,
              key: ownershipProof.sealedKey,
              truncated: false,
              // No such file was stored.
              file: null,
            })),
            token: { owner: { address: receiver.address }, movedWithoutKey: false, authorizedUsers: [] },
          },
        },
      ]);
    const [delivered] = newsOf(followers[0]);
    const read = await run(`{
      sealedKeys(to: "${receiver.address}") { nodes { id keys { key } } }
      agentToken(${key}) {
        owner { address agentTokens { nodes { tokenId } } sealedKeys { nodes { id } } }
        authorizations { nodes { user { address } endReason } } transfers { nodes { withKey from { address } } }
        data { index description dataHash } verifier sealedKeys { nodes { id } } approved { address }
      }
      agentTokenHistory(${key}) {
        nodes { kind from { address } to { address } withKey reverted sealedKey { id } newTokenId }
      } }`);
    expect(read).toMatchObject({
      sealedKeys: { nodes: [{ id: delivered.sealedKey.id }] },
      agentToken: {
        owner: {
          agentTokens: { nodes: [{ tokenId: `${tokenId}` }] },
          sealedKeys: { nodes: [{ id: delivered.sealedKey.id }] },
        },
        authorizations: { nodes: [{ user: { address: user.address }, endReason: "TRANSFERRED" }] },
        transfers: {
          nodes: [
            { withKey: true, from: { address: owner.address } },
            { withKey: false, from: null },
          ],
        },
        verifier: getAddress(contractAddresses().agentVerifier),
        sealedKeys: { nodes: [{ id: delivered.sealedKey.id }] },
        approved: null,
      },
      agentTokenHistory: {
        nodes: [
          {
            kind: "KEY_SEALED",
            from: { address: owner.address },
            to: { address: receiver.address },
            withKey: null,
            reverted: false,
            sealedKey: { id: delivered.sealedKey.id },
            newTokenId: null,
          },
          { kind: "TRANSFERRED", withKey: true, sealedKey: null },
          { kind: "AUTHORIZED", from: { address: owner.address }, to: { address: user.address } },
          { kind: "DATA_SET", from: null, to: null },
          { kind: "MINTED", from: null, to: { address: owner.address }, withKey: false },
        ],
      },
    });
    await writeAgent(stack().rpcUrl, receiver.privateKey, "approve", [user.address, tokenId]);
    expect(await run(`{ agentToken(${key}) { approved { address } } }`)).toEqual({
      agentToken: { approved: { address: user.address } },
    });
    await Promise.all(followers.map((follower) => follower.stop()));
  });

  test("an event reverted by a reorg is published again as removed, and replayed from a cursor as well", async () => {
    // Keys too long to be part of their event.
    const { owner, data, tokenId } = await newToken({ pieces: 3 });
    const sealedKeys = [randomHex(4_000), randomHex(4_096), randomHex(4_097)];
    const receiver = await chain.funded();
    const follow = (after = "") =>
      followSocket(
        stack().origin,
        undefined,
        `subscription { publishedSealedKey(tokenId: "${tokenId}", contract: "${CONTRACT}"${after}) ${NEWS}
         }`,
      );
    const moves = await followEvents(
      stack().origin,
      undefined,
      `subscription { tokenTransferred(contract: "${CONTRACT}", tokenId: "${tokenId}") {
        removed withKey from { address } to { address } token { owner { address } } } }`,
    );
    const live = await follow();
    await until(() => stack().app.events.openStreams === 2);
    const proofs = await agentProofs(data, { to: receiver, sealedKeys });
    const move = { byKey: owner.privateKey, from: owner.address, to: receiver.address, tokenId, proofs };
    const { transactionHash } = await iTransfer(stack().rpcUrl, move);
    await until(() => live.results.length === 1);
    const raw = await chain.raw(transactionHash);
    await chain.revert(transactionHash, [[raw, 0]]);
    await until(() => live.results.length === 3);
    const [first, removed, again] = newsOf(live);
    expect([first.removed, removed.removed, again.removed]).toEqual([false, true, false]);
    const keysOf = ({ sealedKey }: { sealedKey: { keys: { key: string; truncated: boolean }[] } }) =>
      sealedKey.keys.map(({ key, truncated }) => [key, truncated]);
    for (const news of [first, removed, again])
      expect(keysOf(news)).toEqual([
        [sealedKeys[0], false],
        [sealedKeys[1], false],
        [sealedKeys[2]?.slice(0, 8_194), true],
      ]);
    expect(removed.sealedKey.id).toBe(first.sealedKey.id);
    expect(again.sealedKey.id).not.toBe(first.sealedKey.id);
    // After the mint, where its block was read late.
    await until(() =>
      expect(newsOf(moves, "tokenTransferred").slice(-3)).toMatchObject([
        { removed: false, withKey: true },
        { removed: true, withKey: true },
        { removed: false, to: { address: receiver.address }, from: { address: owner.address } },
      ]),
    );
    const late = await follow(`, after: "${first.cursor}"`);
    await until(() => late.results.length === 2);
    expect(newsOf(late).map(({ id }) => id)).toEqual([removed.id, again.id]);
    const { agentTokenHistory } = await run(
      `{ agentTokenHistory(contract: "${CONTRACT}", tokenId: "${tokenId}", first: 4) {
        nodes { kind reverted blockHash logIndex sealedKey { keys { truncated } } } } }`,
    );
    expect(agentTokenHistory.nodes).toMatchObject([
      { kind: "KEY_SEALED", reverted: false, sealedKey: { keys: [{}, {}, { truncated: true }] } },
      { kind: "TRANSFERRED", reverted: false },
      { kind: "KEY_SEALED", reverted: true, sealedKey: { keys: [{}, {}, { truncated: true }] } },
      { kind: "TRANSFERRED", reverted: true },
    ]);
    await Promise.all([live, late, moves].map((following) => following.stop()));
  });

  test("a piece of data whose hash is a root of the storage network links to its file", async () => {
    const root = randomHex(32);
    const { client } = chain;
    const submitter = await connectDevnet(stack().rpcUrl, DEMO_USER.privateKey);
    const { flow } = contractAddresses();
    const data = { length: 200n, tags: "0x", nodes: [{ root, height: 0n }] } as const;
    const hash = await submitter.writeContract({
      address: flow,
      abi: flowAbi,
      functionName: "submit",
      args: [{ data, submitter: DEMO_USER.address }],
      value: 10n ** 15n,
    });
    await receiptOf(client, { hash, rpcUrl: stack().rpcUrl });
    const owner = await chain.funded();
    const stored: AgentData = { dataDescription: "weights", dataHash: root };
    const minted = await mintAgent(stack().rpcUrl, {
      to: owner.address,
      data: [stored, newData()],
      byKey: owner.privateKey,
    });
    const query = `{ agentToken(contract: "${CONTRACT}", tokenId: "${minted.tokenId}") { data { description file { root sizeBytes url } } } }`;
    await until(async () => {
      const { agentToken } = await run(query);
      expect(agentToken?.data).toEqual([
        { description: "weights", file: { root, sizeBytes: "200", url: `/file?root=${root}` } },
        { description: "an agent", file: null },
      ]);
    });
  });

  test("new blocks are published, newest first, and those that replace others", async () => {
    const query = "subscription { blockAdded { number hash parentHash } }";
    const blocks = await followEvents(stack().origin, undefined, query);
    await until(() => blocks.results.length === 1);
    await chain.mine(3);
    await until(() => blocks.results.length === 4);
    await chain.reorg(2);
    await until(() => blocks.results.length >= 6);
    const delivered = newsOf(blocks, "blockAdded");
    const head = BigInt(delivered[3].number);
    expect(delivered.map(({ number }) => BigInt(number) - head)).toEqual([-3n, -2n, -1n, 0n, -1n, 0n]);
    expect(delivered[4]).toMatchObject({ parentHash: delivered[1].hash });
    expect(delivered[5]).toMatchObject({ parentHash: delivered[4].hash });
    expect(delivered[4].hash).not.toBe(delivered[2].hash);
    await blocks.stop();
  });
});

describe("what a contract would refuse", () => {
  let owner: Funded;
  let receiver: Funded;
  let stranger: Funded;
  let data: readonly AgentData[];
  let tokenId: bigint;
  beforeAll(async () => {
    ({ owner, data, tokenId } = await newToken({ pieces: 2 }));
    [receiver, stranger] = [await chain.funded(), await chain.funded()];
  });

  type Case = {
    readonly error: string;
    readonly why: RegExp;
    readonly param?: string;
    readonly proofs?: () => Promise<Proof[]>;
    readonly owner?: () => Hex;
    readonly to?: () => Hex;
    readonly from?: () => Hex;
  };
  const made = (options: Partial<ProofOptions> = {}) => agentProofs(data, { to: receiver, ...options });
  const CASES: readonly Case[] = [
    { error: "ERC721InvalidReceiver", why: /cannot receive tokens/, param: "to", to: () => zeroAddress },
    {
      error: "ERC721InvalidSender",
      why: /belongs to/,
      param: "owner",
      owner: () => stranger.address,
      from: () => owner.address,
    },
    {
      error: "ERC721InsufficientApproval",
      why: /may not transfer/,
      param: "from",
      from: () => stranger.address,
    },
    { error: "ERC7857EmptyProof", why: /data needs a proof/, param: "proofs", proofs: async () => [] },
    {
      error: "ERC7857ProofCountMismatch",
      why: /1 proofs for 2 pieces/,
      param: "proofs",
      proofs: async () => (await made()).slice(0, 1),
    },
    {
      error: "ERC7857DataHashMismatch",
      why: /proof 0 is for 0x/,
      param: "proofs.0.accessProof.dataHash",
      proofs: async () => (await made()).toReversed(),
    },
    {
      error: "ERC7857AccessAssistantMismatch",
      why: /access proof 0 is signed by 0x/,
      param: "proofs.0.accessProof.proof",
      proofs: () => made({ signer: stranger }),
    },
    {
      error: "ERC7857WantedReceiverMismatch",
      why: /proof 0 is sealed for 0x/,
      param: "proofs.0.ownershipProof.targetPubkey",
      proofs: () => made({ targetPubkey: publicKeyOf(stranger) }),
    },
    {
      error: "ERC7857TargetPubkeyMismatch",
      why: /a public key other than/,
      param: "proofs.0.ownershipProof.targetPubkey",
      proofs: () => made({ wantedKey: randomHex(33) }),
    },
    {
      error: "Invalid dataHash",
      why: /for different data/,
      param: "proofs.0.ownershipProof.dataHash",
      proofs: () => made({ ownershipDataHash: randomHex(32) }),
    },
    {
      error: "Invalid ownership proof",
      why: /ownership proof 1 is signed by 0x\w+, not by the verifier's oracle 0x/,
      param: "proofs.1.ownershipProof.proof",
      proofs: async () => [
        ...(await made()).slice(0, 1),
        ...(await made({ oracleKey: generatePrivateKey() })).slice(1),
      ],
    },
    {
      error: "Invalid ownership proof",
      why: /of type ZKP/,
      param: "proofs.0.ownershipProof",
      proofs: () => made({ oracleType: 1 }),
    },
    {
      error: "Proof already used",
      why: /the nonces of proofs.0.accessProof.nonce and proofs.0.ownershipProof.nonce are the same/,
      param: "proofs.0.ownershipProof.nonce",
      proofs: async () => {
        const nonce = randomHex(16);
        return made({ accessNonce: nonce, ownershipNonce: nonce });
      },
    },
    ...[
      ["ECDSAInvalidSignatureLength", "accessProof", "0xabcd"],
      ["ECDSAInvalidSignatureLength", "accessProof", `0x${"11".repeat(64)}`],
      ["ECDSAInvalidSignature", "accessProof", `0x${"11".repeat(65)}`],
      ["ECDSAInvalidSignatureS", "accessProof", `0x${"ff".repeat(64)}1b`],
      ["Invalid signature length", "ownershipProof", "0x11"],
      ["ECDSAInvalidSignature", "ownershipProof", `0x${"11".repeat(65)}`],
    ].map(([error = "", part = "", proof = ""]) => ({
      error,
      why: / proof 1 must be a signature of 65 bytes with a low s, and end in 27 or 28\.$/,
      param: `proofs.1.${part}.proof`,
      proofs: async () => withProof(await made(), part, proof),
    })),
  ];

  test.each(CASES.map((one, n) => [`${n} ${one.error}`, one] as const))(
    "%s: it is not prepared, and the error has the contract's own error and the proof at fault",
    async (_name, { error, why, param, proofs = made, ...who }) => {
      const given = await proofs();
      const [stated, to] = [who.owner?.() ?? owner.address, who.to?.() ?? receiver.address];
      const variables = {
        tokenId: `${tokenId}`,
        owner: stated,
        to,
        proofs: toInput(given),
        from: who.from?.() ?? stated,
      };
      const { errors } = await ask(stack().origin, undefined, `query ${MOVE}`, variables);
      expect(errors).toMatchObject([
        {
          message: expect.stringMatching(why),
          extensions: { code: "contract_refused", ...(param && { param }) },
        },
      ]);
      expect(errors?.[0]?.message.startsWith(error)).toBe(true);
      // Sent anyway, the contract refuses it with the same error.
      const sender = [owner, receiver, stranger].find(({ address }) => address === variables.from);
      const sent = iTransfer(stack().rpcUrl, {
        byKey: sender?.privateKey ?? "0x",
        from: stated,
        to,
        tokenId,
        proofs: given,
      });
      const refusal = await sent.then(() => "taken").catch((cause) => refusalOf(cause) ?? String(cause));
      expect(refusalName(refusal)).toBe(error);
    },
  );

  test("a proof is valid once, for a clone too, and its nonces are shown as used", async () => {
    const proofs = await made();
    const variables = {
      tokenId: `${tokenId}`,
      owner: owner.address,
      to: receiver.address,
      proofs: toInput(proofs),
    };
    const clone = `query ${MOVE.replace("prepareTransfer", "prepareClone")}`;
    const { prepared } = await run(clone, variables);
    expect(prepared.warnings).toEqual([expect.stringContaining("7 days")]);
    await send(owner, prepared);
    const { errors } = await ask(stack().origin, undefined, `query ${MOVE}`, variables);
    expect(errors?.[0]).toMatchObject({
      message:
        "Proof already used: this contract has already seen a nonce of proof 0: new proofs are needed.",
      extensions: { param: "proofs.0" },
    });
    const mixed = [...(await made()).slice(0, 1), ...proofs.slice(1)];
    const second = await ask(stack().origin, undefined, `query ${MOVE}`, {
      ...variables,
      proofs: toInput(mixed),
    });
    expect(second.errors?.[0]?.extensions?.param).toBe("proofs.1");
    await until(async () => {
      const { agentToken } = await run(
        `{ agentToken(contract: "${CONTRACT}", tokenId: "${tokenId}") { clones { nodes { token { clonedFrom { tokenId } } } } } }`,
      );
      return agentToken.clones.nodes[0]?.token?.clonedFrom?.tokenId === `${tokenId}`;
    });
  });

  test("a delegate signs for the receiver, and is shown as such", async () => {
    const to = await chain.funded();
    const { prepareDelegateAccess } = await run(
      `{ prepareDelegateAccess(contract: "${CONTRACT}", assistant: "${stranger.address}", from: "${to.address}") {
        from to data value } }`,
    );
    await send(to, prepareDelegateAccess);
    const proofs = toInput(await agentProofs(data, { to, signer: stranger }));
    const { prepared } = await run(`query ${MOVE}`, {
      tokenId: `${tokenId}`,
      owner: owner.address,
      to: to.address,
      proofs,
    });
    expect(prepared.from).toBe(owner.address);
    const delegations = await until(async () => {
      const [found] = await stack().app.agentTokens.delegationsOf([to.address]);
      return (found?.length ?? 0) > 0 && found;
    });
    expect(delegations).toMatchObject([{ contract: CONTRACT, assistant: lowerHex(stranger.address) }]);
  });

  test("authorisations are refused as the contract refuses them: at most 100, no duplicates, and by the owner only", async () => {
    const token = `contract: "${CONTRACT}", tokenId: "${tokenId}"`;
    const users = Array.from({ length: 100 }, () => getAddress(randomHex(20)));
    const refused = async (field: string, user: string, from?: Hex) => {
      const more = from ? `, from: "${from}"` : "";
      const query = `{ ${field}(${token}, user: "${user}"${more}) { data } }`;
      const { errors } = await ask(stack().origin, undefined, query);
      expect(errors?.[0]?.extensions?.code).toBe("contract_refused");
      return errors?.[0]?.message;
    };
    const fresh = getAddress(randomHex(20));
    expect(await refused("prepareRevokeAuthorization", fresh)).toBe("ERC7857NotAuthorized()");
    expect(await refused("prepareAuthorizeUsage", zeroAddress)).toMatch(/^ERC7857InvalidAuthorizedUser\(/);
    expect(await refused("prepareAuthorizeUsage", fresh, stranger.address)).toMatch(
      /^ERC721IncorrectOwner\(/,
    );
    const authorize = (batch: readonly Hex[]) =>
      writeAgent(stack().rpcUrl, owner.privateKey, "batchAuthorizeUsage", [tokenId, batch]);
    await authorize(users.slice(0, 50));
    expect(await refused("prepareAuthorizeUsage", users[0] ?? "")).toBe("ERC7857AlreadyAuthorized()");
    await authorize(users.slice(50));
    expect(await refused("prepareAuthorizeUsage", fresh)).toBe("ERC7857TooManyAuthorizedUsers()");
    await until(async () => {
      const { agentToken } = await run(`{ agentToken(${token}) { authorizedUsers { address } } }`);
      return agentToken.authorizedUsers.length === 100;
    });
  });

  test("a missing token or contract is reported as such", async () => {
    const absent = `contract: "${CONTRACT}", tokenId: "999999"`;
    expect(await run(`{ agentToken(${absent}) { id } }`)).toEqual({ agentToken: null });
    const { errors } = await ask(stack().origin, undefined, `{ accessProofTexts(${absent}) { text } }`);
    expect(errors?.[0]).toMatchObject({
      message: expect.stringMatching(/^ERC721NonexistentToken\(999999\)/),
      extensions: { code: "contract_refused" },
    });
    const other = `{ accessProofTexts(contract: "${stranger.address}", tokenId: 1) { text } }`;
    expect((await ask(stack().origin, undefined, other)).errors?.[0]?.extensions?.code).toBe("not_found");
  });
});
