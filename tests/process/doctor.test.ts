import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeFolders, startConsensus, startExecution } from "../support/chain/node-parts.ts";
import { newFolder, runProcess } from "../support/servers/process.ts";

const DOCTOR = { script: "dist/gateway/cli/doctor.js" } as const;

describe("npm run node:doctor", () => {
  test("exits 0 for a node that satisfies its rules, and 1 with the next step when one is broken", async () => {
    const [consensus, execution] = await Promise.all([startConsensus(), startExecution()]);
    const { home, jwt, secret } = makeFolders();
    execution.secret = secret;
    execution.chainId = 16_661;
    const settings = {
      // Settings that only a start needs are not required.
      NETWORK: "mainnet",
      NODE_CONSENSUS_URL: consensus.url,
      NODE_EXECUTION_URL: execution.url,
      NODE_ENGINE_URL: execution.engineUrl,
      NODE_CONSENSUS_JWT_FILE: jwt,
      NODE_EXECUTION_JWT_FILE: jwt,
      NODE_PUBLIC_RPC_URL: execution.url,
    };
    const good = await runProcess({ ...DOCTOR, args: ["--json"], settings });
    expect({ code: good.code, stderr: good.stderr }).toEqual({ code: 0, stderr: "" });
    const { preflight, ...parts } = JSON.parse(good.stdout);
    expect(parts).toMatchObject({
      consensus: { state: "answering", latestHeight: "1000" },
      execution: { state: "answering", chainId: 16_661 },
      engine: { takesSecret: true, refusesOthers: true },
    });
    expect(preflight).toHaveLength(13);
    expect(good.stdout).not.toContain(secret);

    execution.syncing = { currentBlock: "0x10", highestBlock: "0x20" };
    const bad = await runProcess({
      ...DOCTOR,
      settings: { ...settings, NODE_CONSENSUS_HOME: `${home}/none` },
    });
    expect(bad.code).toBe(1);
    expect(bad.stdout).toContain(
      "FAIL not while syncing: The execution client is still syncing (block 16 of 32)",
    );
    expect(bad.stdout).toContain("Stop the consensus client, wait for the head");
    expect(bad.stdout).toMatch(/FAIL validator state: .*missing/);
  });

  test("explains a message, and prints its usage when it is called wrongly", async () => {
    const message = "block number 150 does not match parent block number 99";
    const folder = newFolder();
    writeFileSync(join(folder, "chain.rlp"), "no export");
    const trim = ["--trim", "100", join(folder, "chain.rlp"), join(folder, "trimmed.rlp")];
    const [explained, untrimmed, wrong, help] = await Promise.all([
      runProcess({ ...DOCTOR, args: ["--json", "--message", message] }),
      runProcess({ ...DOCTOR, args: trim }),
      runProcess({ ...DOCTOR, args: ["--switch", "geth", "geth"] }),
      runProcess({ ...DOCTOR, args: ["--help"] }),
    ]);
    expect(help).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(/^npm run node:doctor \[/),
    });
    expect(explained.code).toBe(0);
    expect(JSON.parse(explained.stdout)).toMatchObject({ kind: "interrupted_import", retrimFrom: "100" });
    expect([untrimmed.code, untrimmed.stderr]).toEqual([
      1,
      "There is no RLP block at byte 0 of the export.\n",
    ]);
    expect({ code: wrong.code, stdout: wrong.stdout, stderr: wrong.stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: "The two clients must differ: there is nothing to switch.\n",
    });
  });
});
