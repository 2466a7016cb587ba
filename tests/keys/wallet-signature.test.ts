// @module-tag medium
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  concatHex,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  getCreate2Address,
  type Hex,
  hexToBytes,
  http,
  numberToHex,
  type PublicClient,
  parseCompactSignature,
  parseSignature,
  serializeCompactSignature,
  serializeErc6492Signature,
  signatureToCompactSignature,
  zeroHash,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyWalletSignature } from "../../src/chain/wallet-signature.ts";
import { DEPLOYER } from "../../src/devnet/chain/accounts.ts";
import { startAnvil } from "../../src/devnet/chain/anvil.ts";
import { connectDevnet } from "../../src/devnet/chain/chain-client.ts";
import { receiptOf } from "../support/chain/receipt-of.ts";
import { compileWallets, walletFactoryAbi } from "../support/chain/wallets.ts";
import { scaled } from "../support/machine.ts";

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const MESSAGE = "router.example wants you to sign in with your Ethereum account: and so on";
const owner = privateKeyToAccount(generatePrivateKey());
const codeOf = compileWallets();

let client: PublicClient;
let url: string;
let deploy: (name: string, owner?: Hex) => Promise<Hex>;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const anvil = await startAnvil();
  ends.unshift(() => anvil.stop());
  url = anvil.url;
  client = createPublicClient({ transport: http(url) });
  const wallet = await connectDevnet(url, DEPLOYER.privateKey);
  deploy = async (name, who) => {
    const hash = await wallet.sendTransaction({ data: codeOf(name, who) });
    const { contractAddress } = await wallet.waitForTransactionReceipt({ hash });
    if (!contractAddress) throw new Error(`${name} was not deployed`);
    return contractAddress;
  };
});
afterAll(async () => {
  for (const end of ends) await end();
});

const verify = (address: Hex, signature: Hex, message = MESSAGE) =>
  verifyWalletSignature(client, { address, message, signature });
const sign = (message = MESSAGE) => owner.signMessage({ message });
const withLast = (signature: Hex, byte: string): Hex => `${signature.slice(0, -2)}${byte}` as Hex;

describe("the signature of an ordinary wallet", () => {
  test("is valid for the text signed, with the last byte as wallets write it: 27 and 28, or 0 and 1", async () => {
    for (let at = 0; at < 4; at++) {
      const message = `${MESSAGE} ${at}`;
      const signature = await sign(message);
      const parity = signature.endsWith("1b") ? "00" : "01";
      expect(await verify(owner.address, signature, message)).toBe(true);
      expect(await verify(owner.address, withLast(signature, parity), message)).toBe(true);
      expect(await verify(owner.address, signature.toUpperCase().replace("0X", "0x") as Hex, message)).toBe(
        true,
      );
    }
  });

  test("is invalid for another text or another wallet", async () => {
    const signature = await sign();
    expect(await verify(owner.address, signature, `${MESSAGE} `)).toBe(false);
    expect(await verify(DEPLOYER.address, signature)).toBe(false);
  });

  test("is invalid as its mirror image, with the wrong parity, a changed byte, or another length", async () => {
    const signature = await sign();
    const { r, s, yParity } = parseSignature(signature);
    const mirrored = concatHex([
      r,
      numberToHex(ORDER - BigInt(s), { size: 32 }),
      yParity === 0 ? "0x1c" : "0x1b",
    ]);
    const otherParity = withLast(signature, signature.endsWith("1b") ? "1c" : "1b");
    const compact = serializeCompactSignature(signatureToCompactSignature(parseSignature(signature)));
    expect(parseCompactSignature(compact).r).toBe(r);
    const bytes = hexToBytes(signature);
    bytes[5] = (bytes[5] ?? 0) ^ 1;
    const changed = `0x${Buffer.from(bytes).toString("hex")}` as const;
    const wrong: Record<string, Hex> = {
      mirrored,
      otherParity,
      compact,
      changed,
      "last byte 2": withLast(signature, "02"),
      "last byte 29": withLast(signature, "1d"),
      "last byte 255": withLast(signature, "ff"),
      "one byte more": concatHex([signature, "0x00"]),
      "no bytes": "0x",
      zeros: `0x${"00".repeat(65)}`,
      "r of zero": concatHex([zeroHash, s, "0x1b"]),
      "s of zero": concatHex([r, zeroHash, "0x1b"]),
      "r beyond the order": concatHex([numberToHex(ORDER, { size: 32 }), s, "0x1b"]),
      long: `0x${"ab".repeat(40_000)}`,
    };
    for (const [name, signature] of Object.entries(wrong))
      expect(await verify(owner.address, signature), name).toBe(false);
  });
});

describe("the signature of a contract wallet", () => {
  test("is valid if its contract accepts it (EIP-1271)", async () => {
    const wallet = await deploy("KeyWallet", owner.address);
    const signature = await sign();
    expect(await verify(wallet, signature)).toBe(true);
    expect(await verify(wallet, signature, "another text")).toBe(false);
    const other = await privateKeyToAccount(generatePrivateKey()).signMessage({ message: MESSAGE });
    expect(await verify(wallet, other)).toBe(false);
    const generous = await deploy("GenerousWallet");
    for (const any of ["0x", "0x1234", `0x${"ab".repeat(4_000)}`] as const)
      expect(await verify(generous, any)).toBe(true);
    expect(await verify(generous, `0x${"ab".repeat(40_000)}`)).toBe(false);
  });

  test.each([
    "StrictWallet",
    "RevertingWallet",
    "BurningWallet",
    "BulkyWallet",
    "SloppyWallet",
    "WalletFactory",
  ])("is invalid, within the time limit, when the contract is a %s", async (name) => {
    const wallet = await deploy(name);
    const startMs = performance.now();
    expect(await verify(wallet, await sign())).toBe(false);
    expect(performance.now() - startMs).toBeLessThan(scaled(6_000));
  });

  test("changes nothing on chain when it is checked", async () => {
    const wallet = await deploy("WritingWallet");
    await verify(wallet, "0x12");
    const storage = await client.getStorageAt({ address: wallet, slot: "0x0" });
    expect(BigInt(storage ?? "0x0")).toBe(0n);
  });
});

describe("the signature of a wallet contract before its deployment (ERC-6492)", () => {
  const wrapped = async (factory: Hex, who: Hex, signature: Hex) =>
    serializeErc6492Signature({
      address: factory,
      data: encodeFunctionData({ abi: walletFactoryAbi, functionName: "deploy", args: [who] }),
      signature,
    });

  test("is valid if the deployed contract would accept it", async () => {
    const factory = await deploy("WalletFactory");
    const bytecode = codeOf("KeyWallet", owner.address);
    const wallet = getCreate2Address({ from: factory, salt: zeroHash, bytecode });
    const signature = await sign();
    expect(await verify(wallet, await wrapped(factory, owner.address, signature))).toBe(true);
    expect(await client.getCode({ address: wallet })).toBeUndefined();
    expect(await verify(wallet, await wrapped(factory, owner.address, withLast(signature, "1d")))).toBe(
      false,
    );
    expect(await verify(wallet, await wrapped(factory, owner.address, signature), "another text")).toBe(
      false,
    );
    expect(await verify(wallet, signature)).toBe(false);
    // Deployed meanwhile, it accepts the same wrapped signature.
    const client_ = createWalletClient({
      account: privateKeyToAccount(DEPLOYER.privateKey),
      transport: http(url),
    });
    const data = encodeFunctionData({ abi: walletFactoryAbi, functionName: "deploy", args: [owner.address] });
    const hash = await client_.sendTransaction({ chain: null, to: factory, data });
    await receiptOf(client, { hash, rpcUrl: url });
    expect(await verify(wallet, await wrapped(factory, owner.address, signature))).toBe(true);
  });

  test("is invalid when the contract would be deployed elsewhere, or nothing is", async () => {
    const factory = await deploy("WalletFactory");
    const stranger = privateKeyToAccount(generatePrivateKey()).address;
    const signature = await sign();
    expect(await verify(stranger, await wrapped(factory, owner.address, signature))).toBe(false);
    expect(await verify(stranger, await wrapped(stranger, owner.address, signature))).toBe(false);
    const garbage = concatHex(["0x1234", `0x${"6492".repeat(16)}`]);
    expect(await verify(stranger, garbage)).toBe(false);
  });

  test("an ordinary wallet may wrap its signature; the mirror image stays refused", async () => {
    const factory = await deploy("WalletFactory");
    const { r, s, yParity } = parseSignature(await sign());
    const mirrored = concatHex([
      r,
      numberToHex(ORDER - BigInt(s), { size: 32 }),
      yParity === 0 ? "0x1c" : "0x1b",
    ]);
    const factoryOfNobody = await wrapped(factory, DEPLOYER.address, mirrored);
    expect(await verify(owner.address, factoryOfNobody)).toBe(false);
  });
});

test("a chain that hangs is waited for 6 s, and is reported as a failure of the chain, as an RPC error is", async () => {
  const hanging = createServer(() => {});
  ends.unshift(async () => {
    hanging.closeAllConnections();
    hanging.close();
  });
  await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
  const { port } = hanging.address() as AddressInfo;
  const silent = createPublicClient({ transport: http(`http://127.0.0.1:${port}`, { timeout: 20_000 }) });
  const startMs = performance.now();
  const asked = { address: DEPLOYER.address, message: MESSAGE, signature: "0x1234" } as const;
  await expect(verifyWalletSignature(silent, asked)).rejects.toMatchObject({ code: "chain_error" });
  expect(performance.now() - startMs).toBeGreaterThan(4_900);
  expect(performance.now() - startMs).toBeLessThan(scaled(8_000));
  const gone = createPublicClient({ transport: http("http://127.0.0.1:1", { retryCount: 0 }) });
  await expect(verifyWalletSignature(gone, asked)).rejects.toMatchObject({ code: "chain_error" });
});
