// @module-tag large
import { chmodSync, copyFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readConsensus } from "../../src/chain/node/consensus.client.ts";
import { readExecution } from "../../src/chain/node/execution.client.ts";
import type { Verdict } from "../../src/chain/node/judgement.ts";
import { NodeService } from "../../src/chain/node/node.service.ts";
import type { NodeSettings } from "../../src/chain/node/node-settings.ts";
import { type Observation, observeSurroundings, readEngine } from "../../src/chain/node/observation.ts";
import { type PreflightRule, preflight } from "../../src/chain/node/preflight.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { startChain } from "../support/chain/chain.ts";
import {
  makeFolders,
  settingsWith,
  startConsensus,
  startExecution,
  startP2p,
  VALIDATOR,
} from "../support/chain/node-parts.ts";
import { scaled } from "../support/machine.ts";

const CHAIN_ID = 16_602;

function serviceOf(settings: NodeSettings): NodeService {
  return new NodeService({ settings, chainId: CHAIN_ID, clock: systemClock });
}

/** Observes the whole node once. */
async function observe(settings: NodeSettings, now: Date): Promise<Observation> {
  const [consensus, execution, engine] = await Promise.all([
    readConsensus(settings.consensusUrl, "NODE_CONSENSUS_URL"),
    readExecution(settings.executionUrl),
    readEngine(settings, now),
  ]);
  return { consensus, execution, engine, ...(await observeSurroundings(settings, consensus)) };
}

/** A node that satisfies every rule except those of the machine; tests break one part at a time. */
async function goodNode() {
  const [consensus, execution, publicRpc, ethereum, other] = await Promise.all([
    startConsensus(),
    startExecution(),
    startExecution(),
    startExecution(),
    startConsensus(),
  ]);
  const folders = makeFolders();
  execution.secret = folders.secret;
  ethereum.chainId = 1;
  other.validator = "B2".repeat(20);
  const settings = settingsWith({
    consensusUrl: consensus.url,
    executionUrl: execution.url,
    engineUrl: execution.engineUrl,
    consensusJwtFile: folders.jwt,
    executionJwtFile: folders.jwt,
    consensusHome: folders.home,
    executionData: folders.data,
    publicAddress: "127.0.0.1",
    publicRpcUrl: publicRpc.url,
    ethRpcUrl: ethereum.url,
    otherConsensusUrls: [other.url],
    p2pPorts: { consensus: await startP2p(), execution: await startP2p() },
  });
  return { consensus, execution, publicRpc, ethereum, other, folders, settings };
}

type GoodNode = Awaited<ReturnType<typeof goodNode>>;

async function checksOf(settings: NodeSettings) {
  const checks = preflight(await observe(settings, new Date()), CHAIN_ID);
  return Object.fromEntries(checks.map(({ rule, ...check }) => [rule, check])) as Record<
    PreflightRule,
    { verdict: Verdict; detail: string; next: string | undefined }
  >;
}

const NOT_OF_THE_MACHINE = (rule: string) => !["disk", "memory", "processors"].includes(rule);

describe("the status of the node", () => {
  test("is what its three interfaces return, and the engine API is called with the secret", async () => {
    const { consensus, execution, settings } = await goodNode();
    consensus.catchingUp = true;
    execution.syncing = { currentBlock: "0x10", highestBlock: "0x20" };
    const node = serviceOf(settings);
    expect(await node.consensus()).toEqual({
      state: "answering",
      nodeId: "ab".repeat(20),
      moniker: "ours",
      network: "0gchain-16602",
      version: "0.38.17",
      latestHeight: 1_000n,
      latestBlockAt: new Date("2026-11-21T12:00:00.123Z"),
      catchingUp: true,
      validatorAddress: VALIDATOR,
      votingPower: 10n,
    });
    expect(await node.execution()).toEqual({
      state: "answering",
      clientVersion: "Geth/v1.15.0-stable/linux-amd64/go1.24",
      client: "geth",
      chainId: CHAIN_ID,
      blockNumber: 1_000n,
      syncing: true,
      currentBlock: 16n,
      highestBlock: 32n,
      peers: 5,
    });
    expect(await node.engine()).toMatchObject({ state: "answering", takesSecret: true, refusesOthers: true });
    await Promise.all([node.consensus(), node.consensus()]);
    expect(consensus.asked).toEqual(["/status"]);
  });

  test("is read from a real chain too: anvil is an execution client of another kind", async () => {
    const chain = await startChain();
    expect(await serviceOf(settingsWith({ executionUrl: chain.url })).execution()).toMatchObject({
      state: "answering",
      client: undefined,
      clientVersion: expect.stringMatching(/^anvil/),
      chainId: CHAIN_ID,
      blockNumber: 1n,
      syncing: false,
    });
  });

  test("is reported for each part separately: not configured, silent, hanging, or something else", async () => {
    const nothing = serviceOf(settingsWith());
    expect((await nothing.consensus()).state).toBe("unset");
    expect((await nothing.execution()).state).toBe("unset");
    expect((await nothing.engine()).state).toBe("unset");

    const [consensus, execution] = await Promise.all([startConsensus(), startExecution()]);
    const settings = settingsWith({ consensusUrl: consensus.url, executionUrl: execution.url });
    for (const text of ["<html>", "{}", '{"result":{"sync_info":{"catching_up":"no"}}}', "[]", "null"]) {
      consensus.text = text;
      execution.text = text;
      const node = serviceOf(settings);
      expect([(await node.consensus()).state, (await node.execution()).state], text).toEqual([
        "malformed",
        "malformed",
      ]);
    }
    consensus.text = undefined;
    consensus.hangs = true;
    const before = performance.now();
    expect(await serviceOf(settings).consensus()).toMatchObject({
      state: "unreachable",
      detail: expect.stringMatching(/3 s/),
    });
    expect(performance.now() - before).toBeLessThan(scaled(6_000));
    await Promise.all([consensus.stop(), execution.stop()]);
    const gone = serviceOf(settings);
    expect(await gone.consensus()).toMatchObject({
      state: "unreachable",
      detail: expect.stringMatching(/ECONNREFUSED/),
    });
    expect((await gone.execution()).state).toBe("unreachable");
  });

  test("is read no further than 1 MiB, and no redirect is followed", async () => {
    const elsewhere = await startConsensus();
    const server = createServer((request, response) => {
      if (request.url === "/long/status") {
        for (let n = 0; n < 40; n++) response.write("x".repeat(65_536));
        return void response.end();
      }
      response.writeHead(302, { location: `${elsewhere.url}/status` }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const consensusUrl of [url, `${url}/long`])
      expect((await serviceOf(settingsWith({ consensusUrl })).consensus()).state).toBe("unreachable");
    expect(elsewhere.asked).toEqual([]);
  });
});

describe("the preflight", () => {
  test("passes a node that satisfies the rules, and changes nothing on it", async () => {
    const { settings, execution } = await goodNode();
    const checks = await checksOf(settings);
    for (const [rule, check] of Object.entries(checks).filter(([rule]) => NOT_OF_THE_MACHINE(rule)))
      expect(check, rule).toMatchObject({ verdict: "pass" });
    for (const rule of ["disk", "memory", "processors"] as const)
      expect(["pass", "fail"]).toContain(checks[rule].verdict);
    expect(new Set(execution.asked)).toEqual(
      new Set(["web3_clientVersion", "eth_chainId", "eth_blockNumber", "eth_syncing", "net_peerCount"]),
    );
  });

  test("judges simultaneous statuses, however often either is requested", async () => {
    const { settings, execution } = await goodNode();
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    const node = new NodeService({ settings, chainId: CHAIN_ID, clock });
    const verdictOf = async () =>
      (await node.preflight()).find(({ rule }) => rule === "not_while_syncing")?.verdict;
    for (const syncing of [false, { currentBlock: "0x10", highestBlock: "0x20" }, false] as const) {
      execution.syncing = syncing;
      nowMs += 1_500;
      const [status, verdict] = await Promise.all([node.execution(), verdictOf()]);
      expect([status, verdict]).toEqual([
        expect.objectContaining({ syncing: syncing !== false }),
        syncing === false ? "pass" : "fail",
      ]);
    }
  });

  test("knows nothing without a configuration, and says what to set", async () => {
    const checks = Object.entries(await checksOf(settingsWith()));
    expect(checks).toHaveLength(13);
    for (const [rule, check] of checks)
      expect(check, rule).toMatchObject({ verdict: "unknown", next: expect.any(String) });
  });

  type Break = (node: GoodNode) => void | Promise<void> | Partial<NodeSettings>;
  const BROKEN: readonly (readonly [string, PreflightRule, Verdict, RegExp, Break])[] = [
    [
      "another secret",
      "same_jwt_secret",
      "fail",
      /different secrets/,
      ({ folders }) => {
        const executionJwtFile = join(folders.folder, "other.hex");
        writeFileSync(executionJwtFile, "11".repeat(32));
        return { executionJwtFile };
      },
    ],
    [
      "a copy of the secret",
      "same_jwt_secret",
      "pass",
      /two copies/,
      ({ folders }) => {
        const executionJwtFile = join(folders.folder, "copy.hex");
        copyFileSync(folders.jwt, executionJwtFile);
        return { executionJwtFile };
      },
    ],
    [
      "a secret readable by everyone",
      "same_jwt_secret",
      "pass",
      /Users other than .* may read/,
      ({ folders }) => chmodSync(folders.jwt, 0o644),
    ],
    [
      "no secret file",
      "same_jwt_secret",
      "fail",
      /NODE_CONSENSUS_JWT_FILE.*ENOENT/,
      ({ folders }) => rmSync(folders.jwt),
    ],
    [
      "half a secret",
      "same_jwt_secret",
      "fail",
      /64 hexadecimal/,
      ({ folders }) => writeFileSync(folders.jwt, "0x1234"),
    ],
    [
      "an engine with another secret",
      "same_jwt_secret",
      "fail",
      /rejects the consensus/,
      ({ execution }) => {
        execution.secret = "22".repeat(32);
      },
    ],
    [
      "an open engine",
      "same_jwt_secret",
      "fail",
      /without a secret/,
      ({ execution }) => {
        execution.secret = undefined;
        return { consensusJwtFile: undefined, executionJwtFile: undefined };
      },
    ],
    [
      "an open engine, and the same secret in both files",
      "same_jwt_secret",
      "fail",
      /without a secret/,
      ({ execution }) => {
        execution.secret = undefined;
      },
    ],
    [
      "no engine",
      "execution_before_consensus",
      "fail",
      /runs without the engine/,
      ({ execution }) => execution.stopEngine(),
    ],
    [
      "nothing is running",
      "execution_before_consensus",
      "fail",
      /does not listen/,
      async (node) => {
        await Promise.all([node.execution.stop(), node.consensus.stop()]);
      },
    ],
    [
      "only the execution client runs",
      "execution_before_consensus",
      "pass",
      /start the consensus client next/,
      (node) => node.consensus.stop(),
    ],
    [
      "syncing with the consensus client",
      "not_while_syncing",
      "fail",
      /block 16 of 32.*runs/,
      (node) => {
        node.execution.syncing = { currentBlock: "0x10", highestBlock: "0x20" };
      },
    ],
    [
      "syncing alone",
      "not_while_syncing",
      "fail",
      /still syncing/,
      async (node) => {
        node.execution.syncing = { currentBlock: "0x10", highestBlock: "0x20" };
        await node.consensus.stop();
      },
    ],
    [
      "behind",
      "near_the_head",
      "fail",
      /100 behind/,
      ({ publicRpc }) => {
        publicRpc.height = 1_100;
      },
    ],
    [
      "behind after an import",
      "near_the_head",
      "unknown",
      /100 behind/,
      async (node) => {
        node.publicRpc.height = 1_100;
        await node.consensus.stop();
      },
    ],
    [
      "a few blocks behind",
      "near_the_head",
      "pass",
      /1004/,
      ({ publicRpc }) => {
        publicRpc.height = 1_004;
      },
    ],
    [
      "no validator state",
      "validator_state",
      "fail",
      /missing/,
      ({ folders }) => rmSync(folders.validatorState),
    ],
    [
      "a broken validator state",
      "validator_state",
      "fail",
      /not a JSON object/,
      ({ folders }) => writeFileSync(folders.validatorState, ""),
    ],
    [
      "a closed port",
      "p2p_ports",
      "fail",
      /Closed: 1 \(execution P2P\)/,
      ({ settings }) => ({
        p2pPorts: { ...settings.p2pPorts, execution: 1 },
      }),
    ],
    [
      "the same key elsewhere",
      "no_double_signing",
      "fail",
      /in use elsewhere: 127/,
      ({ other }) => {
        other.validator = VALIDATOR.toLowerCase();
      },
    ],
    [
      "the key signing while we are stopped",
      "no_double_signing",
      "fail",
      /in use elsewhere/,
      async (node) => {
        node.other.signers = [VALIDATOR];
        await node.consensus.stop();
      },
    ],
    [
      "our own signature while we run",
      "no_double_signing",
      "pass",
      /None/,
      ({ other }) => {
        other.signers = [VALIDATOR];
      },
    ],
    [
      "a silent second machine",
      "no_double_signing",
      "unknown",
      /No answer from/,
      ({ other }) => other.stop(),
    ],
    [
      "no second machine configured",
      "no_double_signing",
      "unknown",
      /cannot detect/,
      () => ({
        otherConsensusUrls: [],
      }),
    ],
    [
      "another chain",
      "same_chain",
      "fail",
      /chain 16601/,
      ({ execution }) => {
        execution.chainId = 16_601;
      },
    ],
    [
      "an Ethereum RPC of a testnet",
      "ethereum_rpc",
      "fail",
      /chain 11155111/,
      ({ ethereum }) => {
        ethereum.chainId = 11_155_111;
      },
    ],
    ["a silent Ethereum RPC", "ethereum_rpc", "fail", /does not answer/, ({ ethereum }) => ethereum.stop()],
    [
      "no database",
      "initialised_once",
      "fail",
      /execution client is not initialised/,
      ({ folders }) => rmSync(join(folders.data, "geth"), { recursive: true }),
    ],
  ];

  test.each(BROKEN)("%s: %s is %s", async (_what, rule, verdict, detail, breakIt) => {
    const node = await goodNode();
    const changed = await breakIt(node);
    const checks = await checksOf({ ...node.settings, ...changed });
    expect(checks[rule]).toMatchObject({ verdict, detail: expect.stringMatching(detail) });
    if (verdict !== "pass") expect(checks[rule].next).toEqual(expect.any(String));
  });

  test.each([
    [64e9, 8, 4e12, ["pass", "pass", "pass"]],
    [61.5e9, 8, 3.9e12, ["pass", "pass", "pass"]],
    [32e9, 4, 2e12, ["fail", "fail", "fail"]],
  ] as const)(
    "%d bytes of memory, %d processors and %d bytes of disk",
    async (memoryBytes, cpus, diskBytes, wanted) => {
      const found = {
        ...(await observe(settingsWith(), new Date())),
        machine: { memoryBytes, cpus, diskBytes },
      };
      const checks = preflight(found, CHAIN_ID);
      const verdictOf = (rule: PreflightRule) => checks.find((check) => check.rule === rule)?.verdict;
      expect([verdictOf("memory"), verdictOf("processors"), verdictOf("disk")]).toEqual(wanted);
    },
  );

  test("never shows the secret", async () => {
    const { settings, folders } = await goodNode();
    const node = serviceOf(settings);
    const answers = await Promise.all([node.preflight(), node.consensus(), node.execution(), node.engine()]);
    const text = JSON.stringify(answers, (_, value) => (typeof value === "bigint" ? String(value) : value));
    expect(text).not.toContain(folders.secret);
    expect(text).not.toContain(folders.folder);
  });
});

describe("who may read the node", () => {
  test("is who NODE_OPERATORS lists, in any spelling, and no other", () => {
    const operator = `0x${"ab".repeat(20)}`;
    const node = serviceOf(settingsWith({ operators: [operator] }));
    expect(() => node.requireOperator(operator.toUpperCase().replace("X", "x"))).not.toThrow();
    expect(() => node.requireOperator(`0x${"cd".repeat(20)}`)).toThrow(/Only an operator/);
    expect(() => serviceOf(settingsWith()).requireOperator(operator)).toThrow(/Only an operator/);
  });
});
