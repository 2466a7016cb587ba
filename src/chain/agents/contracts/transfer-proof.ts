import { concat, hashMessage, keccak256, size } from "viem";
import { AppError } from "../../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { refusalName } from "../../rpc/contract-error.ts";
import { strictSignerOf } from "../../strict-signature.ts";

/** Proof that a receiver or its delegate can access the data (SPEC 2.5). An empty key means the receiver's own. */
export type AccessProof = {
  readonly dataHash: Hex;
  readonly targetPubkey: Hex;
  readonly nonce: Hex;
  readonly proof: Hex;
};
/** In the order of the contracts' enum. */
export const ORACLE_TYPES = ["tee", "zkp"] as const;
export type OracleType = (typeof ORACLE_TYPES)[number];

/** Proof that the oracle sealed the data's key for the receiver (SPEC 2.5). */
type OwnershipProof = AccessProof & { readonly oracleType: OracleType; readonly sealedKey: Hex };
export type TransferProof = { readonly accessProof: AccessProof; readonly ownershipProof: OwnershipProof };

/** The chain's state of the token and its receiver. */
export type TransferFacts = {
  readonly owner: Hex;
  readonly dataHashes: readonly Hex[];
  readonly delegate: Hex;
  /** The oracle of the contract's verifier; undefined if it could not be read. */
  readonly oracle: Hex | undefined;
  /** The index of the proof with a used nonce, if one was refused and it could be determined. */
  readonly usedProof?: number | undefined;
};

/** The accounts and proofs of a transfer. */
export type Move = {
  readonly from: Hex;
  readonly to: Hex;
  readonly sender: Hex;
  readonly proofs: readonly TransferProof[];
};

/** An explanation of a contract error; `param` names the argument at fault. */
export type Explanation = { readonly text: string; readonly param?: string };

/**
 * The text that a receiver signs for one piece of data: the hex hash of data hash, key and nonce, concatenated. The
 * signature covers this text of 66 characters, not the 32 bytes (facts: router-and-chain 3.1).
 */
export function accessProofText({ dataHash, targetPubkey, nonce }: Omit<AccessProof, "proof">): Hex {
  return keccak256(concat([dataHash, targetPubkey, nonce]));
}

/** The text of which the oracle signs the 66 characters, as in `accessProofText`. */
function ownershipProofText({ dataHash, sealedKey, targetPubkey, nonce }: OwnershipProof): Hex {
  return keccak256(concat([dataHash, sealedKey, targetPubkey, nonce]));
}

/** The verifier's refusal of a nonce that it has seen. */
export const PROOF_USED = "Proof already used";

/**
 * Explains why the contract refused a transfer, by the name or text of its error: the proof at fault, its value and
 * the required value. Undefined if the error needs no explanation.
 */
export async function explainRefusal(
  refusal: string,
  move: Move,
  facts: TransferFacts,
): Promise<Explanation | undefined> {
  const { proofs } = move;
  switch (refusalName(refusal)) {
    case "ERC721InvalidSender":
    case "ERC721IncorrectOwner":
      return { text: `the token belongs to ${facts.owner}, not to ${move.from}`, param: "owner" };
    case "ERC721InvalidReceiver":
      return { text: "this receiver cannot receive tokens", param: "to" };
    case "ERC721InsufficientApproval":
      return { text: `${move.sender} may not transfer this token`, param: "from" };
    case "ERC7857EmptyProof":
      return { text: "each piece of the token's data needs a proof", param: "proofs" };
    case "ERC7857ProofCountMismatch":
      return {
        text: `${proofs.length} proofs for ${facts.dataHashes.length} pieces of data`,
        param: "proofs",
      };
    case "ERC7857DataHashMismatch":
      return firstOf(proofs, "accessProof.dataHash", ({ accessProof }, n) =>
        accessProof.dataHash === facts.dataHashes[n]
          ? undefined
          : `proof ${n} is for ${accessProof.dataHash}, but the token's data ${n} has ${facts.dataHashes[n]}`,
      );
    case "Invalid dataHash":
    case "ERC7857ProofDataHashMismatch":
      return firstOf(proofs, "ownershipProof.dataHash", ({ accessProof, ownershipProof }, n) =>
        accessProof.dataHash === ownershipProof.dataHash
          ? undefined
          : `the two proofs ${n} are for different data, ${accessProof.dataHash} and ${ownershipProof.dataHash}`,
      );
    case "ERC7857AccessAssistantMismatch":
      return explainSigner(move, facts);
    case "ERC7857WantedReceiverMismatch":
      return firstOf(proofs, "ownershipProof.targetPubkey", ({ accessProof, ownershipProof }, n) =>
        size(accessProof.targetPubkey) > 0 || addressOfKey(ownershipProof.targetPubkey) === move.to
          ? undefined
          : `the key of proof ${n} is sealed for ${addressOfKey(ownershipProof.targetPubkey)}, not for ${move.to}`,
      );
    case "ERC7857TargetPubkeyMismatch":
      return firstOf(proofs, "ownershipProof.targetPubkey", ({ accessProof, ownershipProof }, n) =>
        size(accessProof.targetPubkey) === 0 || accessProof.targetPubkey === ownershipProof.targetPubkey
          ? undefined
          : `the key of proof ${n} is sealed for a public key other than the receiver's targetPubkey`,
      );
    case PROOF_USED:
      return explainNonce(proofs, facts);
    case "Invalid ownership proof":
      return explainOracle(proofs, facts);
    case "Invalid signature length":
      return firstOf(proofs, "ownershipProof.proof", ({ ownershipProof }, n) =>
        size(ownershipProof.proof) === SIGNATURE_BYTES ? undefined : `${OF_OWNER} ${n} ${HAS_65_BYTES}`,
      );
    case "ECDSAInvalidSignature":
    case "ECDSAInvalidSignatureLength":
    case "ECDSAInvalidSignatureS":
      return explainSignature(proofs);
    default:
      return undefined;
  }
}

/** The address of a 64-byte public key, as the contract computes it: the last 20 bytes of its hash. */
function addressOfKey(publicKey: Hex): Hex {
  return `0x${keccak256(publicKey).slice(-40)}`;
}

/**
 * Validates and lowercases proofs: at most 100, with parts of at most 64 KiB. Throws `invalid_parameter`.
 */
export function readProofs(proofs: readonly TransferProof[]): readonly TransferProof[] {
  if (proofs.length > MAX_PROOFS)
    throw new AppError("invalid_parameter", `A transfer takes at most ${MAX_PROOFS} proofs.`, {
      param: "proofs",
    });
  for (const [n, { accessProof, ownershipProof }] of proofs.entries())
    for (const part of [...Object.values(accessProof), ...Object.values(ownershipProof)])
      if (part.length > 2 * MAX_PART_BYTES + 2)
        throw new AppError(
          "invalid_parameter",
          `A part of a proof must not exceed ${MAX_PART_BYTES} bytes.`,
          {
            param: `proofs.${n}`,
          },
        );
  return proofs.map(normalized);
}

/** Proofs as contract arguments. Throws what `readProofs` throws. */
export function toProofArguments(proofs: readonly TransferProof[]) {
  return readProofs(proofs).map(({ accessProof, ownershipProof }) => ({
    accessProof,
    ownershipProof: { ...ownershipProof, oracleType: ORACLE_TYPES.indexOf(ownershipProof.oracleType) },
  }));
}

const MAX_PROOFS = 100;
const MAX_PART_BYTES = 65_536;

function normalized({ accessProof, ownershipProof }: TransferProof): TransferProof {
  return {
    accessProof: lowered(accessProof),
    ownershipProof: {
      ...lowered(ownershipProof),
      oracleType: ownershipProof.oracleType,
      sealedKey: lowerHex(ownershipProof.sealedKey),
    },
  };
}

function lowered({ dataHash, targetPubkey, nonce, proof }: AccessProof): AccessProof {
  return {
    dataHash: lowerHex(dataHash),
    targetPubkey: lowerHex(targetPubkey),
    nonce: lowerHex(nonce),
    proof: lowerHex(proof),
  };
}

function firstOf(
  proofs: readonly TransferProof[],
  field: string,
  faultOf: (proof: TransferProof, n: number) => string | undefined,
): Explanation | undefined {
  for (const [n, proof] of proofs.entries()) {
    const text = faultOf(proof, n);
    if (text !== undefined) return { text, param: `proofs.${n}.${field}` };
  }
  return undefined;
}

async function explainSigner(
  { to, proofs }: Move,
  { delegate }: TransferFacts,
): Promise<Explanation | undefined> {
  for (const [n, { accessProof }] of proofs.entries()) {
    const signer = await accessSignerOf(accessProof);
    if (signer === to || (signer !== undefined && signer === delegate)) continue;
    const signedBy = signer ?? "an unknown signer";
    return {
      text: `access proof ${n} is signed by ${signedBy}, which is neither ${to} nor its delegate`,
      param: `proofs.${n}.accessProof.proof`,
    };
  }
  return undefined;
}

/** The first signature that the contract cannot read: it checks proof by proof, the access proof first. */
async function explainSignature(proofs: readonly TransferProof[]): Promise<Explanation | undefined> {
  for (const [n, { accessProof, ownershipProof }] of proofs.entries()) {
    if ((await accessSignerOf(accessProof)) === undefined)
      return { text: `access proof ${n} ${HAS_65_BYTES}`, param: `proofs.${n}.accessProof.proof` };
    if ((await oracleSignerOf(ownershipProof)) === undefined)
      return { text: `${OF_OWNER} ${n} ${HAS_65_BYTES}`, param: `proofs.${n}.ownershipProof.proof` };
  }
  return undefined;
}

const SIGNATURE_BYTES = 65;
const OF_OWNER = "ownership proof";
const HAS_65_BYTES = "must be a signature of 65 bytes with a low s, and end in 27 or 28";

async function explainOracle(
  proofs: readonly TransferProof[],
  { oracle }: TransferFacts,
): Promise<Explanation> {
  for (const [n, { ownershipProof }] of proofs.entries()) {
    const param = `proofs.${n}.ownershipProof`;
    if (ownershipProof.oracleType === "zkp")
      return { text: `proof ${n} is of type ZKP, which no contract verifies`, param };
    const signer = await oracleSignerOf(ownershipProof);
    if (oracle !== undefined && signer !== oracle) {
      const signedBy = signer ?? "an unknown signer";
      const text = `ownership proof ${n} is signed by ${signedBy}, not by the verifier's oracle ${oracle}`;
      return { text, param: `${param}.proof` };
    }
  }
  return { text: "a signature is not from the verifier's oracle", param: "proofs" };
}

function accessSignerOf(access: AccessProof): Promise<Hex | undefined> {
  return strictSignerOf(hashMessage(accessProofText(access)), access.proof);
}

function oracleSignerOf(ownership: OwnershipProof): Promise<Hex | undefined> {
  return strictSignerOf(hashMessage(ownershipProofText(ownership)), ownership.proof);
}

/** The verifier stores both kinds of nonces in one set, so all nonces must differ. */
function explainNonce(proofs: readonly TransferProof[], { usedProof }: TransferFacts): Explanation {
  const seen = new Map<Hex, string>();
  for (const [n, { accessProof, ownershipProof }] of proofs.entries())
    for (const [field, { nonce }] of Object.entries({ accessProof, ownershipProof })) {
      const before = seen.get(nonce);
      const here = `proofs.${n}.${field}.nonce`;
      if (before) return { text: `the nonces of ${before} and ${here} are the same`, param: here };
      seen.set(nonce, here);
    }
  if (usedProof === undefined)
    return { text: "this contract has already seen a nonce: new proofs are needed", param: "proofs" };
  return {
    text: `this contract has already seen a nonce of proof ${usedProof}: new proofs are needed`,
    param: `proofs.${usedProof}`,
  };
}
