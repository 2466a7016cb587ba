// @module-tag large
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { toSealedKeyEvent } from "../../src/chain/agents/sealed-keys/sealed-key.ts";
import { appendEvents } from "../../src/events/outbox.ts";
import { toNodeId } from "../../subgraphs/shared/nodes/node-id.ts";
import { MODEL } from "../support/chain/network.ts";
import { type KeyEvents, openKeyEvents } from "../support/client/key-events.ts";
import { installPacked, serveApp } from "../support/client/packed-app.ts";
import { openBrowser, openPage, PATIENCE_MS } from "../support/clients/browser.ts";
import { bookDeposit, seedAccount } from "../support/seed.ts";
import { useStack, useStarted } from "../support/stack.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const APP = ["react-dom", "scheduler", "rxjs", "tslib", "wonka", "openai"];
const TYPES = ["@types/react", "@types/react-dom", "@types/node", "csstype", "undici-types"];

const stack = useStack();
const packed = useStarted((onEnd) => installPacked(onEnd, [...APP, ...TYPES]));

const CUTS = 50;
const EVENTS_PER_CUT = 20;
const RECEIVER = `0x${"ab".repeat(20)}` as const;

test("the package has its entries, their types, and nothing else", () => {
  const { files } = packed();
  const entries = ["index", "apollo", "operations", "react", "relay", "urql", "verify"];
  for (const entry of entries)
    expect(files).toEqual(expect.arrayContaining([`dist/${entry}.js`, `dist/${entry}.d.ts`]));
  expect(files.filter((path) => !path.startsWith("dist/")).sort()).toEqual([
    "LICENSE",
    "README.md",
    "package.json",
  ]);
});

test("an empty Node script queries, follows over two transports, sends a chat and verifies its receipt", async () => {
  const { account, secret } = await seedAccount(stack().app.database, 10n ** 15n);
  const { secret: mk } = await stack().app.managementKeys.create(account, "script", ["account:read"]);
  const printed = await packed().run("script.mjs", {
    ZEROGRAPH_URL: stack().origin,
    SK: secret,
    MK: mk,
    MODEL,
  });
  expect(printed).toMatchObject({
    balance: { available: String(10n ** 15n), held: "0" },
    refusal: "insufficient_scope",
    ok: true,
    passed: expect.arrayContaining(["signature", "answer_body", "inclusion"]),
  });
  const { causes } = printed as { causes: readonly string[][] };
  expect(causes[0]).toEqual(causes[1]);
  expect(causes[0]).toEqual(expect.arrayContaining(["HOLD", "SETTLEMENT"]));
});

test("the packed command runs without the product's sources", async () => {
  const command = "node_modules/@zerograph/client/dist/bin/cli.js";
  const status = await packed().run(command, { ZEROGRAPH_URL: stack().origin }, "status", "--json");
  expect(status).toMatchObject({ url: stack().origin, ready: true });
  const results = await packed().run(command, { ZEROGRAPH_URL: stack().origin }, "doctor", "--json");
  expect((results as { result: string }[]).filter(({ result }) => result === "failed")).toEqual([]);
});

test("hooks render on a server without a request", async () => {
  const printed = await packed().run("server-rendering.mjs");
  const states = "idle connecting connecting idle connecting connecting";
  expect(printed).toEqual({ html: `<p>${states}</p>`, requests: 0, state: "idle" });
});

test("an app in TypeScript compiles against the published types, with Apollo Client, urql and Relay", async () => {
  const options =
    "--noEmit --strict --skipLibCheck --target es2022 --module esnext --moduleResolution bundler";
  const tsc = resolve("node_modules/typescript/bin/tsc");
  const args = [
    tsc,
    ...options.split(" "),
    "--jsx",
    "react-jsx",
    "--types",
    "node",
    "consumer.ts",
    "main.tsx",
  ];
  await expect(run(resolve("scripts/node"), args, { cwd: packed().folder })).resolves.toMatchObject({
    stdout: "",
  });
});

test(`hooks show each of ${CUTS * EVENTS_PER_CUT} events once and in order while the socket is cut ${CUTS} times`, async (context) => {
  const app = await openApp(context, "");
  if (!app) return context.skip();
  const { events, page, served } = app;
  await page.getByLabel("Keys").getByText("live").waitFor();
  for (let cut = 1; cut <= CUTS; cut++) {
    const before = served.opened();
    await events.emit(EVENTS_PER_CUT / 2);
    // Some of them have arrived, some are on their way, some are not published yet.
    await until(() => served.cut() > 0);
    await events.emit(EVENTS_PER_CUT / 2);
    await until(() => served.opened() > before);
  }
  const count = events.emitted.length;
  expect(count).toBe(CUTS * EVENTS_PER_CUT);
  await page.waitForFunction(`document.querySelectorAll("li").length >= ${count}`, undefined, {
    timeout: PATIENCE_MS,
  });
  await page.getByLabel("Keys").getByText("live").waitFor();
  expect(await page.evaluate("globalThis.seen")).toEqual(events.emitted);
  expect(await page.locator("li").allTextContents()).toEqual(events.emitted);
  expect(await page.getByLabel("Connection").textContent()).toBe("live");
  expect(served.opened()).toBeGreaterThan(CUTS);
  expect(app.faults.filter((fault) => !/WebSocket/.test(fault))).toEqual([]);
});

test("a component that is unmounted frees its stream, and in strict mode has one", async (context) => {
  const app = await openApp(context, "");
  if (!app) return context.skip();
  const { page, events } = app;
  const { app: product } = stack();
  await page.getByLabel("Keys").getByText("live").waitFor();
  await until(() => product.events.openStreams === 1);
  await page.getByRole("button", { name: "Toggle" }).click();
  await until(() => product.events.openStreams === 0);
  await page.getByLabel("Connection").getByText("idle").waitFor();
  await page.getByRole("button", { name: "Toggle" }).click();
  await page.getByLabel("Keys").getByText("live").waitFor();
  await events.emit();
  await page.getByRole("listitem").waitFor();
  await until(() => product.events.openStreams === 1);
  expect(app.faults).toEqual([]);
});

test("the balance, sealed keys and an image job follow the product through a cut", async (context) => {
  const app = await openApp(context, `?balance&to=${RECEIVER}&job=missing`);
  if (!app) return context.skip();
  const { page, events, served } = app;
  const { database } = stack().app;
  const balance = page.getByLabel("Balance");
  await balance.getByText("live 1").waitFor();
  await page.getByLabel("Job").getByText("undefined 0 false  async_job_not_found").waitFor();
  const publish = (logIndex: number, removed: boolean) =>
    database.transaction((tx) => appendEvents(tx, [toSealedKeyEvent(sealedKey(logIndex, removed))]));
  const sealedKeys = page.getByLabel("Sealed keys");
  await sealedKeys.getByText("live").waitFor();
  await publish(1, false);
  await publish(2, false);
  await sealedKeys.getByText(`${idOf("key-1")},${idOf("key-2")}`).waitFor();
  served.cut();
  await database.transaction((tx) => bookDeposit(tx, events.account, 41n));
  await publish(1, true);
  await balance.getByText("live 42").waitFor();
  await sealedKeys.getByText(new RegExp(` ${idOf("key-2")}$`)).waitFor();
});

/** The page in a browser, with the events of its account; undefined without a browser. */
async function openApp(context: { onTestFinished(end: () => Promise<void>): void }, query: string) {
  const onEnd = (end: () => Promise<void>) => context.onTestFinished(end);
  const browser = await openBrowser(onEnd);
  if (!browser) return undefined;
  const events: KeyEvents = await openKeyEvents(stack());
  const served = await serveApp(packed().folder, { origin: stack().origin, secret: events.secret }, onEnd);
  const { page, faults } = await openPage(browser, served.origin);
  await page.goto(`${served.origin}/${query}`);
  return { events, page, faults, served };
}

const idOf = (key: string) => toNodeId("SealedKey", key);

function sealedKey(logIndex: number, removed: boolean): Parameters<typeof toSealedKeyEvent>[0] {
  const hash = `0x${"cd".repeat(32)}` as const;
  return {
    id: `key-${logIndex}`,
    contract: RECEIVER,
    tokenId: 1n,
    from: null,
    to: RECEIVER,
    cause: "transfer",
    keys: [],
    keyCount: 0,
    blockNumber: 1n,
    blockHash: hash,
    transactionHash: hash,
    logIndex,
    seenAt: new Date(),
    cursor: "",
    removed,
  };
}
