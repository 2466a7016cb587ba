import { hashMessage, keccak256, recoverAddress, toBytes } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import {
  createAppSecret,
  EPHEMERAL_TOKEN_ID,
  parseAppSecret,
  recoverAppSecretSigner,
} from "../../src/chain/direct/app-secret.ts";
import { PROVIDER, ROUTER_WALLET } from "../../src/devnet/chain/accounts.ts";

const account = privateKeyToAccount(ROUTER_WALLET.privateKey);
const HOUR_MS = 3_600_000;
const INPUT = {
  account,
  provider: PROVIDER.address,
  generation: 3,
  tokenId: 7,
  timestamp: 1_700_000_000_000,
  expiresAt: 0,
  nonce: "n-1",
} as const;

test("a secret decodes to what was signed, and its signer is the payer", async () => {
  const secret = parseAppSecret(await createAppSecret(INPUT));
  const { account: _, ...claims } = INPUT;
  expect(secret).toMatchObject({ ...claims, address: account.address });
  expect(await recoverAppSecretSigner(secret)).toBe(account.address);
});

test("the text is the public broker's format, byte for byte", async () => {
  const text = Buffer.from((await createAppSecret(INPUT)).slice("app-sk-".length), "base64").toString();
  const bar = text.lastIndexOf("|");
  const json = `{"address":"${account.address}","provider":"${PROVIDER.address}","timestamp":1700000000000,"expiresAt":0,"nonce":"n-1","generation":3,"tokenId":7}`;
  expect(text.slice(0, bar)).toBe(json);
  const hash = hashMessage({ raw: keccak256(toBytes(json)) });
  expect(await recoverAddress({ hash, signature: `0x${text.slice(bar + 3)}` })).toBe(account.address);
});

test("a secret is ephemeral without a token id, and with one lives 24 hours at most", async () => {
  const { tokenId: _, timestamp, ...ephemeral } = INPUT;
  const living = (expiresAt: number) => createAppSecret({ ...ephemeral, timestamp, expiresAt });
  expect(parseAppSecret(await living(timestamp + 24 * HOUR_MS)).tokenId).toBe(EPHEMERAL_TOKEN_ID);
  for (const expiresAt of [0, timestamp, timestamp + 24 * HOUR_MS + 1])
    await expect(living(expiresAt)).rejects.toMatchObject({ code: "invalid_parameter", param: "expiresAt" });
});

test("any other spelling is refused", async () => {
  const secret = await createAppSecret(INPUT);
  const text = Buffer.from(secret.slice("app-sk-".length), "base64").toString();
  const spelled = (change: (text: string) => string) =>
    `app-sk-${Buffer.from(change(text)).toString("base64")}`;
  expect(parseAppSecret(spelled((same) => same))).toMatchObject({ nonce: "n-1" });
  const wrong = [
    "",
    "sk-1",
    secret.slice("app-sk-".length),
    `${secret} `,
    `xpp-sk-${secret.slice("app-sk-".length)}`,
    secret.replace(/=+$/, "").slice(0, -4),
    spelled((text) => text.replace('{"address"', '{ "address"')),
    spelled((text) => text.replace('"generation":3,"tokenId":7', '"tokenId":7,"generation":3')),
    spelled((text) => text.replace('"tokenId":7', '"tokenId":7,"more":1')),
    spelled((text) => text.replace('"tokenId":7', '"tokenId":256')),
    spelled((text) => text.replace('"generation":3', '"generation":-1')),
    spelled((text) => text.replace('"generation":3', '"generation":"3"')),
    spelled((text) => text.replace('"expiresAt":0', '"expiresAt":0.5')),
    spelled((text) => text.slice(0, -2)),
    spelled((text) => text.replace("|", "")),
    "app-sk-bm90IGpzb258MHg=",
  ];
  for (const text of wrong) expect(() => parseAppSecret(text), text).toThrow("not a direct-path secret");
});
