// @module-tag large
import { getAddress, parseEventLogs } from "viem";
import { beforeAll, describe, expect, test } from "vitest";
import { agentNftAbi } from "../../src/chain/abi/agent-nft.ts";
import { agentVerifierAbi } from "../../src/chain/abi/agent-verifier.ts";
import { DEPLOYER, ORACLE } from "../../src/devnet/chain/accounts.ts";
import { connectDevnet } from "../../src/devnet/chain/chain-client.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { agentNft, type Funded, handlesOf } from "../support/chain/agent-chain.ts";
import { newData } from "../support/chain/agents.ts";
import { ask } from "../support/clients/graph-client.ts";
import { useStack } from "../support/stack.ts";

const CONTRACT = agentNft();
const FEE = 25_000_000_000_000_001n;
const stack = useStack();

let chain: ReturnType<typeof handlesOf>;
beforeAll(() => {
  chain = handlesOf(stack().rpcUrl);
});

const run = (query: string, variables: object = {}) => ask(stack().origin, undefined, query, variables);
const asAdmin = async () => connectDevnet(stack().rpcUrl, DEPLOYER.privateKey);

const STATE = `query ($account: Address!) { agentContracts { address mintFee rolesOf(account: $account)
  proofVerifier { address maxProofAgeSeconds paused oracles { oracleType contract oracle } } } }`;
const MINT = `query ($from: Address!, $to: Address!, $data: [IntelligentDataInput!], $uri: String, $withRole: Boolean,
  $creator: Address) { prepareMint(contract: "${CONTRACT}", from: $from, to: $to, data: $data, uri: $uri,
  withRole: $withRole, creator: $creator) { from to data value warnings } }`;

async function stateFor(account: Hex) {
  const { data, errors } = await run(STATE, { account });
  expect(errors).toBeUndefined();
  return data.agentContracts.find(({ address }: { address: Hex }) => address === getAddress(CONTRACT));
}

/** Signs and sends the prepared transaction; the id of the minted token. */
async function mintedBy(by: Pick<Funded, "privateKey">, prepared: { to: Hex; data: Hex; value: string }) {
  const client = await connectDevnet(stack().rpcUrl, by.privateKey);
  const { to, data, value } = prepared;
  const hash = await client.sendTransaction({ to, data, value: BigInt(value) });
  const { logs, status } = await client.waitForTransactionReceipt({ hash });
  expect(status).toBe("success");
  const [minted] = parseEventLogs({ abi: agentNftAbi, logs, eventName: "Transfer" });
  if (!minted) throw new Error("no token was minted");
  return minted.args.tokenId;
}

describe("an agent contract", () => {
  test("is prepared no mint whose texts would be minted with other characters", async () => {
    const owner = await chain.funded();
    const sent = { from: owner.address, to: owner.address };
    const piece = { description: "a", dataHash: newData().dataHash };
    for (const half of ["ipfs://\ud800", "\udc00a", "\0"])
      for (const [variables, param] of [
        [{ uri: half }, "uri"],
        [{ data: [piece, { ...piece, description: half }] }, "data.1.description"],
      ] as const)
        expect((await run(MINT, { ...sent, ...variables })).errors).toMatchObject([
          { extensions: { code: "invalid_parameter", param } },
        ]);
    const whole = await run(MINT, { ...sent, uri: "ipfs://\ud83d\ude00" });
    expect(whole.data?.prepareMint.data).toContain("f09f9880");
  });

  test("shows its mint fee, an account's roles, and its verifier with the oracle, as on chain", async () => {
    const admin = await stateFor(DEPLOYER.address);
    expect(new Set(admin.rolesOf)).toEqual(new Set(["DEFAULT_ADMIN", "ADMIN", "OPERATOR", "MINTER"]));
    const nobody = await chain.funded();
    const state = await stateFor(nobody.address);
    expect(state).toMatchObject({
      rolesOf: [],
      proofVerifier: {
        maxProofAgeSeconds: `${7 * 24 * 3_600}`,
        paused: false,
        oracles: [{ oracleType: "TEE", oracle: ORACLE.address }],
      },
    });
    const age = await chain.client.readContract({
      ...{ address: state.proofVerifier.address, abi: agentVerifierAbi },
      functionName: "maxProofAge",
    });
    expect(state.proofVerifier.maxProofAgeSeconds).toBe(`${age}`);
  });

  test("mints as prepared, with the current fee, and preparation refuses what the contract would refuse", async () => {
    const admin = await asAdmin();
    const setFee = async (fee: bigint) => {
      const call = { address: CONTRACT, abi: agentNftAbi, functionName: "setMintFee", args: [fee] } as const;
      await admin.waitForTransactionReceipt({ hash: await admin.writeContract(call) });
    };
    await setFee(FEE);
    try {
      const owner = await chain.funded();
      expect((await stateFor(owner.address)).mintFee).toBe(`${FEE}`);
      const pieces = [newData("a"), newData("b")];
      const data = pieces.map(({ dataDescription: description, dataHash }) => ({ description, dataHash }));
      const sent = { from: owner.address, to: owner.address };
      for (const variables of [{ data }, { uri: "ipfs://x" }, {}]) {
        const { prepareMint } = (await run(MINT, { ...sent, ...variables })).data;
        expect(prepareMint).toMatchObject({ to: getAddress(CONTRACT), value: `${FEE}` });
        const tokenId = await mintedBy(owner, prepareMint);
        const token = { address: CONTRACT, abi: agentNftAbi, args: [tokenId] } as const;
        expect(await chain.client.readContract({ ...token, functionName: "ownerOf" })).toBe(owner.address);
        const stored = await chain.client.readContract({ ...token, functionName: "intelligentDatasOf" });
        expect(stored).toEqual("data" in variables ? pieces : []);
      }

      const byRole = { ...sent, from: DEPLOYER.address, data, withRole: true, creator: owner.address };
      const { prepareMint } = (await run(MINT, byRole)).data;
      expect(prepareMint).toMatchObject({ value: "0", warnings: [] });
      const tokenId = await mintedBy(DEPLOYER, prepareMint);
      const creatorOf = { address: CONTRACT, abi: agentNftAbi, functionName: "creatorOf" } as const;
      expect(await chain.client.readContract({ ...creatorOf, args: [tokenId] })).toBe(owner.address);

      const codeOf = async (variables: object) =>
        (await run(MINT, { ...sent, data, ...variables })).errors?.[0]?.extensions?.code;
      expect(await codeOf({ withRole: true })).toBe("contract_refused");
      expect(await codeOf({ to: `0x${"0".repeat(40)}` })).toBe("contract_refused");
      expect(await codeOf({ uri: "ipfs://x" })).toBe("invalid_parameter");
      expect(await codeOf({ creator: owner.address })).toBe("invalid_parameter");
    } finally {
      await setFee(0n);
    }
  });
});
