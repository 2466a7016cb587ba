import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { bytesToHex } from "@noble/hashes/utils.js";
import { privateKeyToAccount } from "viem/accounts";
import { PROVIDER } from "../../../src/devnet/chain/accounts.ts";
import {
  checkpointText,
  encodeVerifierKey,
  keyIdOf,
  type NoteKey,
  signNote,
} from "../../../src/receipts/format/checkpoint.ts";
import {
  appendLeaf,
  buildProof,
  planInclusion,
  rootOfEdge,
} from "../../../src/receipts/format/merkle-log.ts";
import type { ReceiptBundle } from "../../../src/receipts/format/proof-bundle.ts";
import {
  commitment,
  type Receipt,
  type ReceiptEvidence,
  receiptBytes,
  receiptLeafHash,
} from "../../../src/receipts/format/receipt.ts";

/** The bodies of a request at the four places of a receipt. */
export type Bodies = {
  readonly received: Buffer;
  readonly forwarded: Buffer;
  readonly answered: Buffer;
  readonly returned: Buffer;
};

const LOG = "example.com/receipts";
const SALT = Buffer.alloc(32, 7);
const BEFORE = 4;

/** A router's key pair, made for a test. */
export function newRouterKey(): { readonly key: NoteKey; sign(bytes: Uint8Array): Buffer } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const bytes = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  return {
    key: { name: LOG, publicKey: new Uint8Array(bytes) },
    sign: (signed) => sign(null, signed, privateKey),
  };
}

export const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest();

/** A complete bundle over these bodies: the receipt is the last of `BEFORE + 1`, and the provider signed `text`. */
export async function makeBundle(
  bodies: Bodies,
  router: ReturnType<typeof newRouterKey>,
  {
    text = `${sha256(bodies.forwarded).toString("hex")}:${sha256(bodies.answered).toString("hex")}`,
    evidence = {},
    size = BEFORE + 1,
  }: { readonly text?: string; readonly evidence?: Partial<ReceiptEvidence>; readonly size?: number } = {},
): Promise<ReceiptBundle> {
  const { key } = router;
  const enclave = privateKeyToAccount(PROVIDER.privateKey);
  const receipt = receiptOf(bodies, {
    verdict: "verified",
    form: "hashes",
    request_bound: true,
    response_bound: true,
    signer: enclave.address.toLowerCase(),
    text: commitment(SALT, sha256(text)),
    ...evidence,
  });
  const leaf = receiptLeafHash(receiptBytes(receipt));
  const leaves = Array.from({ length: size }, (_, at) =>
    at === BEFORE ? leaf : new Uint8Array(sha256(`leaf ${at}`)),
  );
  const { root, proof } = proofOf(leaves);
  return {
    receipt,
    signature: bytesToHex(router.sign(receiptBytes(receipt))),
    key_id: keyIdOf(key),
    log: {
      leaf_index: BEFORE,
      tree_size: size,
      inclusion_proof: proof.map(bytesToHex),
      checkpoint: signNote(checkpointText({ origin: LOG, size, root }), key, router.sign),
    },
    public_key: encodeVerifierKey(key),
    provider_signature: {
      text,
      signature: await enclave.signMessage({ message: text }),
      signing_address: enclave.address,
    },
  };
}

function proofOf(leaves: readonly Uint8Array[]) {
  const stored = new Map<string, Uint8Array>();
  const edge: Uint8Array[] = [];
  for (const [at, leaf] of leaves.entries())
    for (const [level, hash] of appendLeaf(at, edge, leaf).entries())
      stored.set(`${level} ${Math.floor(at / 2 ** level)}`, hash);
  const proof = buildProof(planInclusion(BEFORE, leaves.length), ({ level, index }) => {
    const hash = stored.get(`${level} ${index}`);
    if (!hash) throw new Error("the log lacks a hash");
    return hash;
  });
  return { root: rootOfEdge(edge), proof };
}

function receiptOf({ received, forwarded, answered, returned }: Bodies, evidence: ReceiptEvidence): Receipt {
  const commit = (body: Buffer) => commitment(SALT, sha256(body));
  return {
    version: "zerograph-receipt/v1",
    request_id: "req_0123456789",
    account: `0x${"a".repeat(40)}`,
    api_key_id: null,
    endpoint: "/v1/chat/completions",
    model: "m",
    model_answered: "m",
    provider: PROVIDER.address.toLowerCase(),
    salt: bytesToHex(SALT),
    hashes: {
      received: commit(received),
      forwarded: commit(forwarded),
      answered: commit(answered),
      returned: commit(returned),
    },
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
    evidence,
    started_at: "2026-01-01T00:00:00.000Z",
    finished_at: "2026-01-01T00:00:01.000Z",
    previous_leaf: null,
  };
}
