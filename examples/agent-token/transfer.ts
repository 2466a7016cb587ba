import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, OperationRefused } from "@zerograph/client";
import { PublishedSealedKeyDocument } from "@zerograph/client/operations";
import {
  createPublicClient,
  createWalletClient,
  encodePacked,
  type Hex,
  hexToBytes,
  http,
  keccak256,
  parseAbi,
  parseEventLogs,
  slice,
  toHex,
} from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { decrypt, encrypt, open, seal } from "./sealed-box.ts";

const { ORIGIN = "http://127.0.0.1:4000" } = process.env;

/**
 * Accounts of the development network: a wallet with money, and the oracle that its verifier accepts. Their keys are
 * PUBLIC. On a real network the oracle is an enclave, which seals the key on request, and whose private key never leaves it.
 */
const owner = privateKeyToAccount("0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6");
const oracle = privateKeyToAccount("0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6");

const TRANSFERRED = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
]);
const MAX_ATTEMPTS = 40;
type Prepared = { readonly to: Hex; readonly data: Hex; readonly value: string };
type AccessText = {
  readonly dataHash: Hex;
  readonly targetPubkey: Hex;
  readonly nonce: Hex;
  readonly text: Hex;
};
type Start = {
  readonly network: { readonly rpcUrls: readonly string[] };
  readonly contract: { readonly address: Hex };
  readonly eventCursor: string;
};

const graph = createClient({ url: ORIGIN });
const { network, contract, eventCursor } = await graph.query<Start, object>(
  "{ network { rpcUrls } contract(name: AGENT_NFT) { address } eventCursor }",
);
const transport = http(network.rpcUrls[0]);
const chain = createPublicClient({ transport });
const wallet = createWalletClient({ account: owner, transport });

/** Sends a prepared transaction as the owner, and resolves with the token that it moved or minted. */
async function send({ to, data, value }: Prepared): Promise<bigint> {
  const hash = await wallet.sendTransaction({ chain: null, to, data, value: BigInt(value) });
  const { logs } = await chain.waitForTransactionReceipt({ hash });
  const [transfer] = parseEventLogs({ abi: TRANSFERRED, logs });
  if (!transfer) throw new Error(`The transaction ${hash} moved no token.`);
  return transfer.args.tokenId;
}

/** The token's texts to sign, once the gateway's node has the block that minted it: until then the contract has no such token. */
async function accessTexts(tokenId: string): Promise<readonly AccessText[]> {
  for (let attempt = 1; ; attempt++)
    try {
      const { accessProofTexts } = await graph.query<
        { accessProofTexts: readonly AccessText[] },
        { contract: Hex; tokenId: string }
      >(
        `query Texts($contract: Address!, $tokenId: BigInt!) {
          accessProofTexts(contract: $contract, tokenId: $tokenId) { dataHash targetPubkey nonce text }
        }`,
        { contract: contract.address, tokenId },
      );
      return accessProofTexts;
    } catch (error) {
      if (!(error instanceof OperationRefused) || attempt === MAX_ATTEMPTS) throw error;
      await pause(250);
    }
}

/**
 * Both proofs for one piece of data: the receiver signs that it wants the data, and the oracle that `sealedKey` is the
 * data's key, sealed for the receiver. Both sign a text of 66 characters.
 */
async function prove(receiver: PrivateKeyAccount, access: AccessText, sealedKey: Hex) {
  const { dataHash, targetPubkey, nonce, text } = access;
  const ownership = {
    dataHash,
    sealedKey,
    targetPubkey: slice(receiver.publicKey, 1),
    nonce: toHex(randomBytes(32)),
  };
  const message = keccak256(
    encodePacked(
      ["bytes32", "bytes", "bytes", "bytes"],
      [dataHash, sealedKey, ownership.targetPubkey, ownership.nonce],
    ),
  );
  return {
    accessProof: { dataHash, targetPubkey, nonce, proof: await receiver.signMessage({ message: text }) },
    ownershipProof: { ...ownership, proof: await oracle.signMessage({ message }) },
  };
}

// A receiver who has never been on the chain before.
const receiverKey = generatePrivateKey();
const receiver = privateKeyToAccount(receiverKey);

// The agent's memory, encrypted. The ciphertext belongs into a storage network, and its root on the chain.
const dataKey = randomBytes(32);
const ciphertext = encrypt(Buffer.from("You are a travel agent who likes trains."), dataKey);

const { prepareMint } = await graph.query<{ prepareMint: Prepared }, object>(
  `query Mint($contract: Address!, $owner: Address!, $data: [IntelligentDataInput!]!) {
    prepareMint(contract: $contract, from: $owner, to: $owner, data: $data) { to data value }
  }`,
  {
    contract: contract.address,
    owner: owner.address,
    data: [{ description: "System prompt", dataHash: keccak256(ciphertext) }],
  },
);
const tokenId = String(await send(prepareMint));
console.log(`Minted token ${tokenId} of ${contract.address} to ${owner.address}.`);

// Subscribed before the transfer, and from a cursor before that: the key cannot be missed.
const keys = graph.subscribe(PublishedSealedKeyDocument, { to: receiver.address }, { after: eventCursor });

const sealedKey = toHex(seal(dataKey, hexToBytes(receiver.publicKey)));
const proofs = await Promise.all(
  (await accessTexts(tokenId)).map((access) => prove(receiver, access, sealedKey)),
);
const { prepareTransfer } = await graph.query<{ prepareTransfer: Prepared }, object>(
  `query Transfer($contract: Address!, $tokenId: BigInt!, $owner: Address!, $to: Address!, $proofs: [TransferProofInput!]!) {
    prepareTransfer(contract: $contract, tokenId: $tokenId, owner: $owner, to: $to, proofs: $proofs) { to data value }
  }`,
  { contract: contract.address, tokenId, owner: owner.address, to: receiver.address, proofs },
);
await send(prepareTransfer);
console.log(`Transferred it to ${receiver.address}.`);

for await (const { data } of keys) {
  const published = data.publishedSealedKey.sealedKey?.keys[0]?.key;
  if (!published) continue;
  const opened = open(hexToBytes(published as Hex), hexToBytes(receiverKey));
  console.log(`The receiver opened its key and read: ${decrypt(ciphertext, opened)}`);
  break;
}
graph.dispose();
