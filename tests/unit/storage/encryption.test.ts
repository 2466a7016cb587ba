import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openKey, sealKey } from "../../../src/storage/encryption/ecies.ts";
import {
  decryptFile,
  encryptFile,
  newFileCipher,
  openFileCipher,
} from "../../../src/storage/encryption/file-encryption.ts";
import { readHeader, writeHeader } from "../../../src/storage/encryption/file-header.ts";
import { applyKeyStream } from "../../../src/storage/encryption/key-stream.ts";

// Files that the network's own clients decrypt.
const { v1, v1CounterWrap, v2 } = JSON.parse(
  readFileSync(new URL("../../fixtures/encryption-vectors.json", import.meta.url), "utf8"),
);
const hex = (text: string) => Buffer.from(text, "hex");

test("a file of version 1 equals the one that the network's clients write, byte for byte", () => {
  const cipher = newFileCipher({ key: hex(v1.keyHex) }, hex(v1.nonceHex));
  const file = [writeHeader(cipher.header), cipher.transform(Buffer.from(v1.plaintext), 0n)];
  expect(Buffer.concat(file).toString("hex")).toBe(v1.fileHex);
  expect(decryptFile(hex(v1.fileHex), { key: hex(v1.keyHex) }).toString()).toBe(v1.plaintext);
});

test("the counter carries through all of its 128 bits", () => {
  const plaintext = Buffer.from(Array.from({ length: 2_000 }, (_, at) => at % 251));
  const cipher = newFileCipher({ key: hex(v1.keyHex) }, Buffer.alloc(16, 0xff));
  const file = Buffer.concat([writeHeader(cipher.header), cipher.transform(plaintext, 0n)]);
  expect(createHash("sha256").update(file).digest("hex")).toBe(v1CounterWrap.sha256OfFile);
});

test("a file of version 2 has the key that the network's clients derive, on both sides", () => {
  const sealed = sealKey(hex(v2.recipientPubCompressed), hex(v2.ephemeralPriv));
  expect(sealed.key.toString("hex")).toBe(v2.aesKey);
  expect(sealed.ephemeralPublicKey.toString("hex")).toBe(v2.ephemeralPubCompressed);
  expect(openKey(hex(v2.recipientPriv), sealed.ephemeralPublicKey).toString("hex")).toBe(v2.aesKey);
  expect(decryptFile(hex(v2.fileHex), { privateKey: hex(v2.recipientPriv) }).toString()).toBe(v1.plaintext);
});

test("any encrypted file is decrypted by its recipient, and any part of it without the rest", () => {
  const key = Buffer.alloc(32, 7);
  const part = fc.record({ offset: fc.nat(5_000), length: fc.nat(300) });
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 5_000 }),
      part,
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      (bytes, { offset, length }, nonce) => {
        const whole = applyKeyStream(key, nonce, bytes);
        const piece = bytes.subarray(offset, offset + length);
        expect(applyKeyStream(key, nonce, piece, BigInt(offset))).toEqual(
          whole.subarray(offset, offset + length),
        );
        const file = encryptFile(bytes, { publicKey: hex(v2.recipientPubCompressed) });
        expect(decryptFile(file, { privateKey: hex(v2.recipientPriv) })).toEqual(Buffer.from(bytes));
      },
    ),
    { numRuns: 50 },
  );
});

test("two files with one key never share a nonce, and two files for one recipient never share a key", () => {
  const once = encryptFile(Buffer.alloc(64), { key: hex(v1.keyHex) });
  expect(encryptFile(Buffer.alloc(64), { key: hex(v1.keyHex) })).not.toEqual(once);
  const recipient = hex(v2.recipientPubCompressed);
  expect(sealKey(recipient).key).not.toEqual(sealKey(recipient).key);
});

test("a malformed header or key, or a point off the curve, is refused", () => {
  expect(readHeader(Buffer.alloc(16, 1))).toBeUndefined();
  expect(readHeader(Buffer.alloc(49, 2))).toBeUndefined();
  expect(readHeader(Buffer.alloc(100, 3))).toBeUndefined();
  const refused = expect.objectContaining({ code: "invalid_parameter" });
  expect(() => decryptFile(Buffer.from("plain"), { key: hex(v1.keyHex) })).toThrow(refused);
  expect(() => decryptFile(hex(v1.fileHex), { privateKey: hex(v2.recipientPriv) })).toThrow(refused);
  expect(() => decryptFile(hex(v2.fileHex), { key: hex(v1.keyHex) })).toThrow(refused);
  expect(() => encryptFile(Buffer.of(1), { key: Buffer.alloc(31) })).toThrow(refused);
  expect(() => encryptFile(Buffer.of(1), { publicKey: Buffer.alloc(33, 3) })).toThrow(refused);
  const header = { version: 2, nonce: Buffer.alloc(16), ephemeralPublicKey: Buffer.alloc(33) } as const;
  expect(() => openFileCipher(header, { privateKey: hex(v2.recipientPriv) })).toThrow(refused);
  expect(() => openKey(Buffer.alloc(32), hex(v2.ephemeralPubCompressed))).toThrow(refused);
});
