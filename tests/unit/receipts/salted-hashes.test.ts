import { createHash } from "node:crypto";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeHash } from "../../../src/receipts/format/merkle-log.ts";
import { commitment, receiptLeafHash } from "../../../src/receipts/format/receipt.ts";
import { commitTo, leafHashOf, newSalt, nodeHashOf } from "../../../src/receipts/native-hashes.ts";
import { saltHashes } from "../../../src/receipts/salted-hashes.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest();
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe("the hashes of a draft", () => {
  const [received, forwarded, returned] = ["a", "b", "d"].map(sha256) as [Buffer, Buffer, Buffer];
  const none = new Uint8Array(32);

  it("are salted with a salt of their own, and missing ones are null", () => {
    const digests = Buffer.concat([received, forwarded, none, returned]);
    const [first, second] = [1, 2].map(() => saltHashes({ digests, commitments: null }));
    expect(first?.salt).not.toBe(second?.salt);
    const salt = hexToBytes(first?.salt ?? "");
    expect(first?.hashes).toEqual({
      received: commitment(salt, received),
      forwarded: commitment(salt, forwarded),
      answered: null,
      returned: commitment(salt, returned),
    });
    expect(first?.ofText("a text")).toBe(commitment(salt, sha256("a text")));
  });

  it("are null after the last one that is stored, and where nothing is stored", () => {
    const digests = Buffer.concat([received, forwarded, none]);
    expect(saltHashes({ digests, commitments: null }).hashes).toMatchObject({ returned: null });
    const { salt, hashes } = saltHashes({ digests: null, commitments: null });
    expect(hexToBytes(salt)).toHaveLength(32);
    expect(Object.values(hashes)).toEqual([null, null, null, null]);
  });

  it("of the previous version are used with the salt that they have", () => {
    const salt = newSalt();
    const salted = hexToBytes(commitment(salt, received));
    const stored = saltHashes({ digests: null, commitments: Buffer.concat([salt, salted, none, none]) });
    expect(stored.salt).toBe(bytesToHex(salt));
    expect(stored.hashes).toEqual({
      received: commitment(salt, received),
      forwarded: null,
      answered: null,
      returned: null,
    });
  });
});

describe("hashes by Node", () => {
  it("are those of the published format", () => {
    fc.assert(
      fc.property(bytes32, bytes32, fc.string({ unit: "grapheme" }), (left, right, text) => {
        expect(commitTo(left, right)).toBe(commitment(left, right));
        expect(bytesToHex(nodeHashOf(left, right))).toBe(bytesToHex(nodeHash(left, right)));
        expect(bytesToHex(leafHashOf(text))).toBe(bytesToHex(receiptLeafHash(Buffer.from(text))));
      }),
    );
  });

  it("has a new salt each time", () => {
    const salts = Array.from({ length: 200 }, () => bytesToHex(newSalt()));
    expect(new Set(salts).size).toBe(200);
  });
});

it("are of 32 bytes only: no call hashes bytes of an earlier one", () => {
  const [short, whole, long] = [new Uint8Array(31), new Uint8Array(32), new Uint8Array(33)];
  expect(() => nodeHashOf(short, long)).toThrow("32 bytes");
  expect(() => commitTo(whole, short)).toThrow("32 bytes");
});
