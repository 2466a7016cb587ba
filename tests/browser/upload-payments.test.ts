// @module-tag large
import { randomBytes } from "node:crypto";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { DEMO_USER, TOKEN_RECEIVER } from "../../src/devnet/chain/accounts.ts";
import { ask } from "../support/clients/graph-client.ts";
import { type InjectedWallet, injectWallet } from "./injected-wallet.ts";
import { heading, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();
const OWNER = DEMO_USER.address;
const OTHER = TOKEN_RECEIVER.address;

let rpcUrl = "";
beforeAll(async () => {
  const { data } = await ask(dashboard().product.origin, undefined, "{ network { rpcUrls } }");
  [rpcUrl] = data.network.rpcUrls;
});

/** The page of storage on a network without a development wallet, as real ones are. */
async function openStorage(page: Page): Promise<void> {
  await page.route(/development-wallet$/, (route) => route.fulfill({ status: 404, json: {} }));
  await page.goto(`${dashboard().product.origin}/dashboard/storage`);
  await heading(page, "Storage");
}

function newFile(name: string) {
  return { name, mimeType: "application/octet-stream", buffer: randomBytes(5_000) };
}

const choose = (page: Page, file: ReturnType<typeof newFile>) =>
  page.getByLabel("Files to upload").setInputFiles(file);
const payments = ({ requests }: InjectedWallet) =>
  requests.filter((method) => method === "eth_sendTransaction").length;

test("an upload is paid by the signed-in account only, whichever wallet and account are selected", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const stranger = await injectWallet(page, { name: "Other Wallet", account: OTHER, rpcUrl });
  const wallet = await injectWallet(page, { name: "Test Wallet", account: OTHER, rpcUrl });
  await openStorage(page);
  await choose(page, newFile("mine.bin"));
  await page.getByText(`Select the account ${OWNER} in Other Wallet.`).waitFor();
  // Its user switches the account while the page is open.
  wallet.account = OWNER;
  await choose(page, newFile("switched.bin"));
  await page.getByRole("img", { name: "switched.bin: 1 of 1 segments stored" }).waitFor();
  expect([payments(stranger), payments(wallet)]).toEqual([0, 1]);
});

test.each([
  ["once, if its user confirms it later", true],
  ["again, if nothing was sent", false],
])("an upload whose page is left while the wallet asks is paid for %s", async (_, isConfirmed) => {
  if (!dashboard().browser) return;
  const { page } = await dashboard().signedIn();
  page.on("dialog", (dialog) => void dialog.accept());
  const wallet = await injectWallet(page, { name: "Test Wallet", account: OWNER, rpcUrl });
  await openStorage(page);
  // The gateway does not read the block of the submission before the next upload.
  let prepared: string | undefined;
  await page.route(/\/graphql$/, async (route) => {
    if (!route.request().postData()?.includes("query PrepareUpload")) return route.fallback();
    prepared ??= await (await route.fetch({ maxRetries: 3 })).text();
    return route.fulfill({ contentType: "application/json", body: prepared });
  });
  const file = newFile("left.bin");
  const answer = Promise.withResolvers<void>();
  wallet.held.set("eth_sendTransaction", answer.promise);
  await choose(page, file);
  await expect.poll(() => payments(wallet)).toBe(1);
  await page.reload();
  await heading(page, "Storage");
  wallet.held.clear();
  const sent = await countSent();
  if (isConfirmed) answer.resolve();
  await expect.poll(countSent).toBe(sent + Number(isConfirmed));
  await choose(page, file);
  await page.getByRole("img", { name: "left.bin: 1 of 1 segments stored" }).waitFor();
  expect(payments(wallet)).toBe(isConfirmed ? 1 : 2);
});

async function countSent(): Promise<number> {
  const reply = await fetch(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "eth_getTransactionCount",
      params: [OWNER, "pending"],
    }),
  });
  return Number(((await reply.json()) as { result: string }).result);
}
