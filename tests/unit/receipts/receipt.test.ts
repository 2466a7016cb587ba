import { generateKeyPairSync, hash, sign } from "node:crypto";
import { bytesToHex } from "@noble/hashes/utils.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkpointText,
  encodeVerifierKey,
  keyIdOf,
  type NoteKey,
  signNote,
} from "../../../src/receipts/format/checkpoint.ts";
import { appendLeaf, planInclusion, rootOfEdge } from "../../../src/receipts/format/merkle-log.ts";
import { type ReceiptBundle, verifyBundle } from "../../../src/receipts/format/proof-bundle.ts";
import {
  commitment,
  commitsTo,
  type Receipt,
  receiptBytes,
  receiptLeafHash,
  verifyReceipt,
} from "../../../src/receipts/format/receipt.ts";

const SALT = new Uint8Array(32).fill(1);
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const key: NoteKey = {
  name: "example.com/log",
  publicKey: new Uint8Array(Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url")),
};
const signer = (bytes: Uint8Array) => sign(null, bytes, privateKey);

const RECEIPT: Receipt = {
  version: "zerograph-receipt/v1",
  request_id: "req_1",
  account: `0x${"a".repeat(40)}`,
  api_key_id: "0190c4f2-0000-7000-8000-000000000001",
  endpoint: "/v1/chat/completions",
  model: "m",
  model_answered: "m",
  provider: `0x${"b".repeat(40)}`,
  salt: bytesToHex(SALT),
  hashes: { received: null, forwarded: null, answered: null, returned: null },
  usage: {
    input_tokens: 10,
    output_tokens: 20,
    cached_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    units: null,
    estimated: false,
  },
  prices: { input: "1000", output: "2000" },
  charge: "50000",
  outcome: "completed",
  error_code: null,
  evidence: null,
  started_at: "2026-01-01T00:00:00.000Z",
  finished_at: "2026-01-01T00:00:01.000Z",
  previous_leaf: null,
};

describe("a receipt", () => {
  it("is signed by the router, and any changed member breaks the signature", () => {
    const signature = bytesToHex(signer(receiptBytes(RECEIPT)));
    expect(verifyReceipt(RECEIPT, signature, key)).toBe(true);
    for (const name of Object.keys(RECEIPT))
      expect(verifyReceipt({ ...RECEIPT, [name]: "other" }, signature, key)).toBe(false);
    expect(verifyReceipt(RECEIPT, signature.toUpperCase(), key)).toBe(false);
    expect(verifyReceipt(RECEIPT, "", key)).toBe(false);
  });

  it("commits to bytes by a salted hash", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (bytes, other) => {
        const hash = commitment(SALT, sha(bytes));
        const receipt = { ...RECEIPT, hashes: { ...RECEIPT.hashes, received: hash } };
        expect(commitsTo(receipt, "received", bytes)).toBe(true);
        expect(commitsTo(receipt, "returned", bytes)).toBe(false);
        if (!Buffer.from(bytes).equals(other)) expect(commitsTo(receipt, "received", other)).toBe(false);
        expect(commitment(SALT.with(0, 2), sha(bytes))).not.toBe(hash);
      }),
    );
  });
});

describe("a bundle", () => {
  it("proves that the receipt is in the signed log", () => {
    const verdict = verifyBundle(bundleOf(RECEIPT), key);
    expect(verdict).toMatchObject({ isSigned: true, isIncluded: true, checkpoint: { size: 2 } });
  });

  it("does not with a changed charge, even one that is signed again", () => {
    const bundle = bundleOf(RECEIPT);
    const receipt = { ...RECEIPT, charge: "49999" };
    expect(verifyBundle({ ...bundle, receipt }, key)).toMatchObject({ isSigned: false, isIncluded: false });
    const signature = bytesToHex(signer(receiptBytes(receipt)));
    const signedAgain = verifyBundle({ ...bundle, receipt, signature }, key);
    expect(signedAgain).toMatchObject({ isSigned: true, isIncluded: false });
  });

  it("is refused, and throws nothing, whatever is malformed", () => {
    const bundle = bundleOf(RECEIPT);
    const other = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }).x ?? "";
    const otherKey = { ...key, publicKey: new Uint8Array(Buffer.from(other, "base64url")) };
    expect(verifyBundle(bundle, otherKey)).toEqual({
      ...{ isSigned: false, isIncluded: false, checkpoint: undefined },
    });
    const { log } = bundle;
    for (const changed of [
      { tree_size: 3 },
      { leaf_index: 0 },
      { inclusion_proof: ["zz"] },
      { inclusion_proof: [] },
      { inclusion_proof: undefined },
    ])
      expect(
        verifyBundle({ ...bundle, log: { ...log, ...changed } } as unknown as ReceiptBundle, key).isIncluded,
      ).toBe(false);
    for (const nothing of [null, {}, { receipt: null }])
      expect(verifyBundle(nothing as unknown as ReceiptBundle, key).isIncluded).toBe(false);
  });
});

/** The receipt as the second leaf of a log. */
function bundleOf(receipt: Receipt): ReceiptBundle {
  const first = receiptLeafHash(receiptBytes({ ...receipt, request_id: "req_0" }));
  const leaf = receiptLeafHash(receiptBytes(receipt));
  const edge: Uint8Array[] = [];
  appendLeaf(0, edge, first);
  appendLeaf(1, edge, leaf);
  expect(planInclusion(1, 2)).toEqual([[{ level: 0, index: 0 }]]);
  const text = checkpointText({ origin: key.name, size: 2, root: rootOfEdge(edge) });
  return {
    receipt,
    signature: bytesToHex(signer(receiptBytes(receipt))),
    key_id: keyIdOf(key),
    log: {
      leaf_index: 1,
      tree_size: 2,
      inclusion_proof: [bytesToHex(first)],
      checkpoint: signNote(text, key, signer),
    },
    public_key: encodeVerifierKey(key),
    provider_signature: null,
  };
}

function sha(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(Buffer.from(hash("sha256", bytes), "hex"));
}
