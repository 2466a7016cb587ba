import { encodeFunctionData, parseAbi, toHex } from "viem";
import { NETWORKS } from "../../chain/networks.ts";
import { NEURON_PER_TOKEN } from "../../kernel/text/amount.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { PROVIDER } from "./accounts.ts";
import type { Call, DevnetClient } from "./chain-client.ts";

/** Sets the data of the DASigners stand-in; callable by anyone. An epoch's quorums list their signers by row. */
export const daSignersControlAbi = parseAbi([
  "struct G1Point { uint256 X; uint256 Y; }",
  "struct G2Point { uint256[2] X; uint256[2] Y; }",
  "struct SignerDetail { address signer; string socket; G1Point pkG1; G2Point pkG2; }",
  "struct Params { uint256 tokensPerVote; uint256 maxVotesPerSigner; uint256 maxQuorums; uint256 epochBlocks; uint256 encodedSlices; }",
  "function setParams(Params newParams)",
  "function setSigner(SignerDetail detail)",
  "function setEpoch(uint256 epoch, address[][] quorums)",
]);

/** Sets the data of the WrappedOGBase stand-in; callable by anyone. Amounts are neuron. */
export const wrappedBaseControlAbi = parseAbi([
  "function setWA0GI(address token)",
  "function setMinterCap(address minter, uint256 cap, uint256 initialSupply)",
]);

type SetCode = { Method: "anvil_setCode"; Parameters: [Hex, Hex]; ReturnType: null };
type SetBalance = { Method: "anvil_setBalance"; Parameters: [Hex, Hex]; ReturnType: null };

/** The generators of BN254's two groups. */
const G1 = { X: 1n, Y: 2n } as const;
const G2 = {
  X: [
    10857046999023057135944570762232829481370756359578518086990519993285655852781n,
    11559732032986387107991004021392285783925812861821192530917403151452391805634n,
  ],
  Y: [
    8495653923123431417604973247489272438418190587263600148770280649306958101930n,
    4082367875863433681332203403145435568316851327593401208105741076214120093531n,
  ],
} as const;
/** Parameters of a realistic size. */
const PARAMS = {
  tokensPerVote: 10n,
  maxVotesPerSigner: 1_024n,
  maxQuorums: 10n,
  epochBlocks: 5_760n,
  encodedSlices: 3_072n,
} as const;
const CALL_GAS = 1_000_000n;
/** What the base can mint: more than will ever be requested. */
const BASE_BALANCE_NEURON = 10n ** 9n * NEURON_PER_TOKEN;

/**
 * Copies the stand-ins to the addresses of the precompiles (SPEC 2.1), which anvil lacks. Returns the calls that set
 * their data: one signer in one quorum, and the wrapped token. If the stand-ins are already there, it returns no calls.
 */
export async function placePrecompiles(
  client: DevnetClient,
  from: { readonly daSigners: Hex; readonly wrappedBase: Hex; readonly wrappedToken: Hex },
): Promise<readonly Call[]> {
  const { daSigners, wrappedBase } = NETWORKS.testnet.contracts;
  const [newSigners, newBase] = await Promise.all([
    copyCode(client, from.daSigners, daSigners.address),
    copyCode(client, from.wrappedBase, wrappedBase.address),
  ]);
  if (newBase) {
    const params: SetBalance["Parameters"] = [wrappedBase.address, toHex(BASE_BALANCE_NEURON)];
    await client.request<SetBalance>({ method: "anvil_setBalance", params });
  }
  return [
    ...(newSigners ? signerCalls(daSigners.address) : []),
    ...(newBase ? [callOf(wrappedBase.address, wrappedTokenCall(from.wrappedToken))] : []),
  ];
}

/** Returns whether the code was replaced. */
async function copyCode(client: DevnetClient, from: Hex, to: Hex): Promise<boolean> {
  const [wanted, found] = await Promise.all([
    client.getCode({ address: from }),
    client.getCode({ address: to }),
  ]);
  if (!wanted || wanted === found) return false;
  await client.request<SetCode>({ method: "anvil_setCode", params: [to, wanted] });
  return true;
}

function signerCalls(to: Hex): readonly Call[] {
  const abi = daSignersControlAbi;
  const signer = { signer: PROVIDER.address, socket: "127.0.0.1:34000", pkG1: G1, pkG2: G2 } as const;
  return [
    encodeFunctionData({ abi, functionName: "setParams", args: [PARAMS] }),
    encodeFunctionData({ abi, functionName: "setSigner", args: [signer] }),
    encodeFunctionData({ abi, functionName: "setEpoch", args: [1n, [[PROVIDER.address]]] }),
  ].map((data) => callOf(to, data));
}

function wrappedTokenCall(token: Hex): Hex {
  return encodeFunctionData({ abi: wrappedBaseControlAbi, functionName: "setWA0GI", args: [token] });
}

function callOf(to: Hex, data: Hex): Call {
  return { to, data, gas: CALL_GAS };
}
