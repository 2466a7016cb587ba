// @module-tag large
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { DEMO_USER, TOKEN_RECEIVER } from "../../src/devnet/chain/accounts.ts";
import { proveTransfer } from "../../src/devnet/chain/agent-proofs.ts";
import { agentNft, handlesOf } from "../support/chain/agent-chain.ts";
import { mintAgent, newData, writeAgent } from "../support/chain/agents.ts";
import { requireAccessible, requireNoFinding } from "../support/clients/browser.ts";
import { ask } from "../support/clients/graph-client.ts";
import { until } from "../support/until.ts";
import { injectWallet } from "./injected-wallet.ts";
import { go, heading, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();
const OWNER = DEMO_USER.address;
const OTHER = TOKEN_RECEIVER.address;
const short = (hex: string) => `${hex.slice(0, 8)}…${hex.slice(-4)}`;

let rpcUrl = "";
beforeAll(async () => {
  const { data } = await ask(dashboard().product.origin, undefined, "{ network { rpcUrls } }");
  [rpcUrl] = data.network.rpcUrls;
});

/** A new token of the signed-in account, indexed. */
async function newToken() {
  const data = [newData("System prompt"), newData("Memory")];
  const { tokenId } = await mintAgent(rpcUrl, { to: OWNER, data });
  const query = `{ agentToken(contract: "${agentNft()}", tokenId: "${tokenId}") { id } }`;
  await until(async () => (await ask(dashboard().product.origin, undefined, query)).data.agentToken);
  return { tokenId, data };
}

async function openToken(page: Page, tokenId: bigint): Promise<void> {
  await page.goto(`${dashboard().product.origin}/dashboard/tokens/${agentNft()}/${tokenId}`);
  await heading(page, `Token #${tokenId}`);
}

const entries = (page: Page) => page.getByRole("region", { name: "Timeline" }).getByRole("listitem");

test("a new development network shows a sample token with its history, and the keys sealed for the account", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Agent tokens");
  const row = page.getByRole("region", { name: "Agent tokens" }).getByRole("row").filter({ hasText: "#0" });
  await row.getByText("System prompt of a travel agent").waitFor();
  await row.getByText("owner and 1 account").waitFor();
  const inbox = page.getByRole("region", { name: "Sealed keys", exact: true });
  await inbox.getByText("key 0,").first().waitFor();
  await requireNoFinding(page, "tokens", ["target-size"]);
  await inbox.getByText("key 0,").first().click();
  await inbox.getByText("Opens").first().waitFor();
  await row.getByRole("link").first().click();
  await heading(page, "Token #0");
  await expect.poll(() => entries(page).count()).toBe(8);
  const texts = (await entries(page).allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " "));
  const said = [
    `${short(OTHER)} authorized by ${short(OWNER)} you`,
    `Cloned for ${short(OTHER)} as #1`,
    `Keys sealed for ${short(OWNER)} you`,
    `Transferred from ${short(OTHER)} to ${short(OWNER)} you`,
    `Keys sealed for ${short(OTHER)}`,
    `Transferred from ${short(OWNER)} you to ${short(OTHER)}`,
    "Data set",
    `Minted to ${short(OWNER)} you`,
  ];
  for (const [n, sentence] of said.entries()) expect(texts[n]).toContain(sentence);
  await page.getByRole("link", { name: "#1" }).click();
  await heading(page, "Token #1");
  await page.getByText("Only its owner can transfer").waitFor();
  await page.getByRole("link", { name: "#0" }).waitFor();

  // Another owner's tokens, and everyone's, by the URL.
  await go(page, "Agent tokens");
  await page.getByLabel("Owner").fill(OTHER);
  await page
    .getByRole("region", { name: "Agent tokens" })
    .getByRole("row")
    .filter({ hasText: "#1" })
    .waitFor();
  expect(page.url()).toContain(`owner=${OTHER}`);
  await page.getByLabel("Owner").fill(`0x${"1".repeat(40)}`);
  await page.getByText("No agent token matches.").waitFor();
  await page.getByLabel("Whose tokens").selectOption("any");
  await expect.poll(() => page.getByRole("link", { name: /^#\d+$/ }).count()).toBeGreaterThan(1);
  expect(faults).toEqual([]);
});

test("an authorization is granted and revoked by the development wallet, with errors at the field", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { tokenId } = await newToken();
  const { page, faults } = await dashboard().signedIn();
  await openToken(page, tokenId);
  await page.getByRole("button", { name: "Authorize an account" }).click();
  const dialog = page.getByRole("dialog");
  const field = dialog.getByLabel("Account");
  await field.fill("someone");
  await page.keyboard.press("Enter");
  await dialog.getByText("An address is 0x and 40 hexadecimal digits.").waitFor();
  // The contract refuses the zero address, when the transaction is simulated.
  await field.fill(`0x${"0".repeat(40)}`);
  await page.keyboard.press("Enter");
  await dialog.getByText(/ERC7857InvalidAuthorizedUser/).waitFor();
  await requireAccessible(page, "token-authorize-refused");
  await field.fill(OTHER);
  await page.keyboard.press("Enter");
  await dialog.getByText("Calls the contract").waitFor();
  await dialog.getByRole("button", { name: "Back" }).click();
  expect(await field.inputValue()).toBe(OTHER);
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByText("Calls the contract").waitFor();
  await requireAccessible(page, "token-review");
  await dialog.getByRole("button", { name: "Sign with Development wallet" }).click();
  await dialog.getByText("It is in a block.").waitFor();
  await requireAccessible(page, "token-mined");
  await dialog.getByRole("button", { name: "Done" }).click();
  await entries(page)
    .first()
    .getByText(`${short(OTHER)} authorized by`)
    .waitFor();
  await page.getByRole("button", { name: `Revoke ${OTHER}` }).click();
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByRole("button", { name: "Sign with Development wallet" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await entries(page)
    .first()
    .getByText(`Authorization of ${short(OTHER)} revoked`)
    .waitFor();
  await page.getByRole("button", { name: `Revoke ${OTHER}` }).waitFor({ state: "detached" });
  expect(faults).toEqual([]);
});

test("a token is cloned and transferred with proofs of the development network's oracle, and is another one's then", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { tokenId } = await newToken();
  const { page, faults } = await dashboard().signedIn();
  await openToken(page, tokenId);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Clone", exact: true }).click();
  await dialog.getByLabel("Receiver").fill(`0x${"2".repeat(40)}`);
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByText("makes proofs for its own accounts only").waitFor();
  await dialog.getByLabel("Receiver").fill(OTHER);
  await dialog.getByLabel("Proofs").fill("[{}]");
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByText(/^0\.accessProof: /).waitFor();
  await dialog.getByLabel("Proofs").fill("");
  await dialog.getByText("What the receiver signs").click();
  await dialog.getByText("personal_sign").waitFor();
  await requireAccessible(page, "token-clone");
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog
    .getByText("makes its proof valid again")
    .or(dialog.getByText("another clone"))
    .first()
    .waitFor();
  await dialog.getByRole("button", { name: "Sign with Development wallet" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await entries(page)
    .first()
    .getByText(`Cloned for ${short(OTHER)}`)
    .waitFor();
  await page.getByRole("button", { name: "Transfer" }).click();
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByRole("button", { name: "Sign with Development wallet" }).click();
  await dialog.getByText("It is in a block.").waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await entries(page)
    .first()
    .getByText(`Keys sealed for ${short(OTHER)}`)
    .waitFor();
  await page.getByText("Only its owner can transfer").waitFor();
  // The proofs that were refused.
  expect(faults.filter((fault) => !fault.includes("400 (Bad Request)"))).toEqual([]);
});

test("a wallet of the browser transfers a token: refused, on another chain, and then mined", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { tokenId, data } = await newToken();
  const { page, faults } = await dashboard().signedIn();
  const wallet = await injectWallet(page, { name: "Test Wallet", account: OWNER, rpcUrl });
  const stranger = await injectWallet(page, { name: "Other Wallet", account: OTHER, rpcUrl });
  await openToken(page, tokenId);
  await page.getByRole("button", { name: "Transfer" }).click();
  const dialog = page.getByRole("dialog");
  const proofs = await proveTransfer(
    OTHER,
    data.map(({ dataHash }) => dataHash),
  );
  const swapped = proofs.toReversed();
  await dialog.getByLabel("Proofs").fill(JSON.stringify(swapped));
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByText(/ERC7857DataHashMismatch\(\): proof 0 is for/).waitFor();
  await dialog.getByLabel("Proofs").fill(JSON.stringify(proofs));
  await dialog.getByRole("button", { name: "Review" }).click();
  // Several wallets: one chooses.
  await dialog.getByRole("button", { name: "Sign with Development wallet" }).waitFor();
  await dialog.getByRole("button", { name: "Sign with Other Wallet" }).click();
  await dialog.getByText(`Select the account ${OWNER} in Other Wallet.`).waitFor();
  expect(stranger.requests).not.toContain("eth_sendTransaction");
  const sign = dialog.getByRole("button", { name: "Sign with Test Wallet" });
  await requireAccessible(page, "token-wallets");

  Object.assign(wallet, { chainId: "0x1", stays: true });
  await sign.click();
  await dialog.getByText("Test Wallet is on another chain.").waitFor();
  wallet.stays = false;
  wallet.refused.add("wallet_switchEthereumChain");
  await sign.click();
  await dialog.getByText("Test Wallet refused the request. Nothing was sent.").waitFor();
  wallet.refused.clear();
  wallet.knowsChain = false;
  wallet.refused.add("eth_sendTransaction");
  await sign.click();
  await expect.poll(() => wallet.requests.at(-1)).toBe("eth_sendTransaction");
  expect(wallet.requests).toContain("wallet_addEthereumChain");
  expect(BigInt(wallet.chainId)).toBe(16_602n);
  await dialog.getByText("Test Wallet refused the request. Nothing was sent.").waitFor();
  await requireAccessible(page, "token-wallet-refused");
  wallet.refused.clear();
  await sign.click();
  await dialog.getByText("It is in a block.").waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await entries(page)
    .first()
    .getByText(`Keys sealed for ${short(OTHER)}`)
    .waitFor();
  expect(faults).toEqual([]);
});

test("a transaction waits for its block, fails if the contract reverts it, and is not sent to a chain of the same id", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { tokenId } = await newToken();
  const { page } = await dashboard().signedIn();
  const wallet = await injectWallet(page, { name: "Test Wallet", account: OWNER, rpcUrl });
  // As on a real network: no development wallet, and no oracle.
  await page.route(/development-wallet$/, (route) => route.fulfill({ status: 404, json: {} }));
  await openToken(page, tokenId);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Transfer" }).click();
  await dialog.getByLabel("Receiver").fill(OTHER);
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByText("The proofs of the contract's oracle, in JSON.").waitFor();
  await page.keyboard.press("Escape");
  const authorize = async () => {
    await page.getByRole("button", { name: "Authorize an account" }).click();
    await dialog.getByLabel("Account").fill(`0x${(++users).toString(16).padStart(40, "0")}`);
    await dialog.getByRole("button", { name: "Review" }).click();
    await dialog.getByRole("button", { name: "Sign with Test Wallet" }).click();
  };
  let users = 0;
  wallet.answers.set("eth_getCode", "0x");
  await authorize();
  await dialog.getByText("another chain with the same id").waitFor();
  expect(wallet.requests).not.toContain("eth_sendTransaction");
  await page.keyboard.press("Escape");
  wallet.answers.clear();
  wallet.answers.set("eth_getTransactionReceipt", null);
  await authorize();
  await dialog.getByText("Waiting for its block…").waitFor();
  await requireAccessible(page, "token-waiting");
  wallet.answers.set("eth_getTransactionReceipt", { status: "0x0" });
  await dialog.getByText("The contract reverted the transaction.").waitFor();
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
  await dialog.waitFor({ state: "detached" });
});

test("a browser without a wallet is told what to install", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { tokenId } = await newToken();
  const { page } = await dashboard().signedIn();
  await page.route(/development-wallet$/, (route) => route.fulfill({ status: 404, json: {} }));
  await openToken(page, tokenId);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Authorize an account" }).click();
  await dialog.getByLabel("Account").fill(OTHER);
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByText("No wallet found in this browser.").waitFor();
  await requireAccessible(page, "token-no-wallet");
});

test("what a reorg reverts stays in the timeline, struck through, also after a reload", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { tokenId } = await newToken();
  const { page, faults } = await dashboard().signedIn();
  await openToken(page, tokenId);
  await expect.poll(() => entries(page).count()).toBe(2);
  const move = [OWNER, OTHER, tokenId];
  const { transactionHash } = await writeAgent(rpcUrl, DEMO_USER.privateKey, "transferFrom", move);
  await entries(page).first().getByText("Transferred from").waitFor();
  await page.getByText("transferred without its key").waitFor();
  await handlesOf(rpcUrl).revert(transactionHash);
  await page.getByText("reverted by a reorg").waitFor();
  await page.getByRole("button", { name: "Transfer" }).waitFor();
  expect(await entries(page).count()).toBe(3);
  await page.reload();
  await page.locator("del").filter({ hasText: "Transferred from" }).waitFor();
  await requireAccessible(page, "token-reorg");
  expect(faults).toEqual([]);
});

test("a long history is read in pages, and Back returns to the newest", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { tokenId } = await newToken();
  const users = Array.from({ length: 25 }, (_, n) => `0x${(n + 1).toString(16).padStart(40, "0")}`);
  await writeAgent(rpcUrl, DEMO_USER.privateKey, "batchAuthorizeUsage", [tokenId, users]);
  const { page, faults } = await dashboard().signedIn();
  await openToken(page, tokenId);
  await expect.poll(() => entries(page).count()).toBe(20);
  await page.getByRole("button", { name: "Older →" }).click();
  await entries(page).getByText("Minted to").waitFor();
  expect(await entries(page).count()).toBe(7);
  await page.goBack();
  await expect.poll(() => entries(page).count()).toBe(20);
  expect(faults).toEqual([]);
});

test("a token is minted by its form, and appears in the list", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Agent tokens");
  await page.getByRole("button", { name: "Mint a token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Description").fill("Weights of a poet");
  await dialog.getByLabel("Hash of the data").fill("0x12");
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByText("A hash is 0x and 64 hexadecimal digits.").waitFor();
  await dialog.getByLabel("Hash of the data").fill(newData().dataHash);
  await requireAccessible(page, "token-mint");
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByRole("button", { name: "Sign with Development wallet" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("row").filter({ hasText: "Weights of a poet" }).waitFor();
  expect(faults).toEqual([]);
});

test("a token that does not exist, and a failing graph, are said so", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const { origin } = dashboard().product;
  await openToken(page, 999_999n);
  await page.getByText("There is no such token.").waitFor();
  await page.getByText("Nothing has happened to this token.").waitFor();
  await requireAccessible(page, "token-unknown");
  await page.goto(`${origin}/dashboard/tokens/nonsense/one`);
  await page.getByText("There is no such token.").waitFor();
  await page.route(/\/graphql$/, (route) =>
    (route.request().postData() ?? "").includes("agentTokenHistory")
      ? route.fulfill({ json: { data: null, errors: [{ message: "The history is away." }] } })
      : route.continue(),
  );
  await openToken(page, 0n);
  await page.getByText("The history is away.").waitFor();
  await page.unroute(/\/graphql$/);
  await page.getByRole("button", { name: "Try again" }).click();
  await entries(page).first().waitFor();
});
