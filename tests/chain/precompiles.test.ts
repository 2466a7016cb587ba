// @module-tag large
import { describe, expect, test } from "vitest";
import { NETWORKS, withAddresses } from "../../src/chain/networks.ts";
import { DaSignersClient } from "../../src/chain/precompiles/da-signers.client.ts";
import { WrappedBaseClient } from "../../src/chain/precompiles/wrapped-base.client.ts";
import { createRpc } from "../../src/chain/rpc/rpc.client.ts";
import { DEPLOYER, EDIT_PROVIDER, IMAGE_PROVIDER, PROVIDER } from "../../src/devnet/chain/accounts.ts";
import { connectDevnet, mined } from "../../src/devnet/chain/chain-client.ts";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import { daSignersControlAbi, wrappedBaseControlAbi } from "../../src/devnet/chain/precompiles.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { startChain } from "../support/chain/chain.ts";
import { startRpcProxy } from "../support/chain/rpc-proxy.ts";
import { ask } from "../support/clients/graph-client.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();

const { daSigners, wrappedBase } = NETWORKS.testnet.contracts;
const POINT = { X: 3n, Y: 5n } as const;
const PAIRS = { X: [7n, 11n], Y: [13n, 2n ** 255n] } as const;

async function inGraph(query: string, variables: object = {}) {
  return ask(stack().origin, undefined, query, variables);
}

describe("DASigners", () => {
  test("all seven reads of SPEC are fields with the values of the precompile", async () => {
    const owner = await connectDevnet(stack().rpcUrl, DEPLOYER.privateKey);
    const control = { address: daSigners.address, abi: daSignersControlAbi } as const;
    const detail = {
      signer: IMAGE_PROVIDER.address,
      socket: "10.0.0.7:34000",
      pkG1: POINT,
      pkG2: PAIRS,
    } as const;
    await mined(owner, await owner.writeContract({ ...control, functionName: "setSigner", args: [detail] }));
    const quorums = [
      [IMAGE_PROVIDER.address, PROVIDER.address, IMAGE_PROVIDER.address],
      [PROVIDER.address],
    ] as const;
    await mined(
      owner,
      await owner.writeContract({ ...control, functionName: "setEpoch", args: [41n, quorums] }),
    );
    const { data, errors } = await inGraph(
      `query ($a: Address!, $n: Address!) { daSigners { address epochNumber quorumCount(epoch: "41")
        is: isSigner(account: $a) isNot: isSigner(account: $n)
        signers(accounts: [$a]) { accountAddress socket publicKeyG1 { x y } publicKeyG2 { x y } }
        quorum(epoch: "41", quorumId: "0") { epoch quorumId rowCount
          rows(first: 2) { nodes { index signer } pageInfo { hasNextPage endCursor } } }
        rowSigner(epoch: "41", quorumId: "0", rowIndex: 2)
        registered(account: $a, epoch: "41") unregistered: registered(account: $a, epoch: "40") } }`,
      { a: IMAGE_PROVIDER.address, n: EDIT_PROVIDER.address },
    );
    expect(errors ?? []).toEqual([]);
    expect(data.daSigners).toEqual({
      address: daSigners.address,
      epochNumber: "41",
      quorumCount: "2",
      is: true,
      isNot: false,
      signers: [
        {
          accountAddress: IMAGE_PROVIDER.address,
          socket: "10.0.0.7:34000",
          publicKeyG1: { x: "3", y: "5" },
          publicKeyG2: { x: ["7", "11"], y: ["13", String(2n ** 255n)] },
        },
      ],
      quorum: {
        epoch: "41",
        quorumId: "0",
        rowCount: 3,
        rows: {
          nodes: [
            { index: 0, signer: IMAGE_PROVIDER.address },
            { index: 1, signer: PROVIDER.address },
          ],
          pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
        },
      },
      rowSigner: IMAGE_PROVIDER.address,
      registered: true,
      unregistered: false,
    });
    const rest = await inGraph(
      `query ($c: Cursor) { daSigners { quorum(epoch: "41", quorumId: "0") { rows(after: $c) { nodes { index } } } } }`,
      { c: data.daSigners.quorum.rows.pageInfo.endCursor },
    );
    expect(rest.data.daSigners.quorum.rows.nodes).toEqual([{ index: 2 }]);
  });

  test.each([
    ['quorum(epoch: "99", quorumId: "0") { rowCount }', "contract_refused"],
    ['rowSigner(epoch: "99", quorumId: "0", rowIndex: 0)', "contract_refused"],
    ['rowSigner(epoch: "41", quorumId: "0", rowIndex: -1)', "invalid_parameter"],
    [`signers(accounts: ["${EDIT_PROVIDER.address}"]) { socket }`, "contract_refused"],
    ["signers(accounts: []) { socket }", "invalid_parameter"],
  ])("%s fails by itself, as %s, and affects no other field", async (field, code) => {
    const { data, errors } = await inGraph(`{ daSigners { epochNumber ${field} } }`);
    expect(errors?.map(({ extensions }) => extensions?.code)).toEqual([code]);
    expect(data.daSigners.epochNumber).toEqual(expect.any(String));
  });
});

describe("WrappedOGBase", () => {
  test("returns the wrapped token and a minter's quota, with the remaining amount", async () => {
    const owner = await connectDevnet(stack().rpcUrl, DEPLOYER.privateKey);
    const args = [PROVIDER.address, 1_000n, 250n] as const;
    const call = {
      address: wrappedBase.address,
      abi: wrappedBaseControlAbi,
      functionName: "setMinterCap",
      args,
    } as const;
    await mined(owner, await owner.writeContract(call));
    const query = `query ($m: Address!, $n: Address!) { wrappedBase { address wrappedToken
      known: minterSupply(minter: $m) { minter cap initialSupply supply remaining }
      unknown: minterSupply(minter: $n) { cap supply remaining } } }`;
    const variables = { m: PROVIDER.address, n: EDIT_PROVIDER.address };
    expect((await inGraph(query, variables)).data.wrappedBase).toEqual({
      address: wrappedBase.address,
      wrappedToken: contractAddresses().wrappedToken,
      known: { minter: PROVIDER.address, cap: "1000", initialSupply: "250", supply: "250", remaining: "750" },
      unknown: { cap: "0", supply: "0", remaining: "0" },
    });
    const lower = { ...call, args: [PROVIDER.address, 100n, 250n] } as const;
    await mined(owner, await owner.writeContract(lower));
    expect((await inGraph(query, variables)).data.wrappedBase.known).toMatchObject({
      cap: "100",
      remaining: "0",
    });
  });
});

describe("a chain without precompiles", () => {
  const clients = (url: string) => {
    const rpc = createRpc({ urls: [url], network: "devnet", chainId: 16_602, log: createLogger("silent") });
    const network = withAddresses(NETWORKS.devnet, {
      contracts: { daSigners: daSigners.address, wrappedBase: wrappedBase.address },
    });
    return [new DaSignersClient(rpc.client, network), new WrappedBaseClient(rpc.client, network)] as const;
  };
  const reads = (url: string): readonly Promise<unknown>[] => {
    const [signers, base] = clients(url);
    const account: Hex = PROVIDER.address;
    return [
      signers.epochNumber(),
      signers.quorumCount(1n),
      signers.isSigner(account),
      signers.signers([account]),
      signers.quorum(1n, 0n),
      signers.quorumRow(1n, 0n, 0),
      signers.registeredEpoch(account, 1n),
      base.wrappedToken(),
      base.minterSupply(account),
    ];
  };
  const codesOf = async (all: readonly Promise<unknown>[]) =>
    new Set(
      (await Promise.allSettled(all)).map((result) =>
        result.status === "rejected" ? result.reason.code : "none",
      ),
    );

  test("reports for every read that the contract does not exist", async () => {
    const chain = await startChain();
    expect(await codesOf(reads(chain.url))).toEqual(new Set(["contract_not_found"]));
  });

  test("and one whose RPC fails reports that instead", async () => {
    const chain = await startChain();
    const proxy = await startRpcProxy(chain.url);
    proxy.judge = () => "cut";
    expect(await codesOf(reads(proxy.url))).toEqual(new Set(["chain_error"]));
  });

  test("reports a network whose table has no address, with the reason", () => {
    const rpc = createRpc({ urls: [], network: "devnet", chainId: 16_602, log: createLogger("silent") });
    const absent = new WrappedBaseClient(rpc.client, NETWORKS.devnet);
    expect(() => absent.address()).toThrow(/has no contract wrappedBase\. Not deployed/);
  });
});
