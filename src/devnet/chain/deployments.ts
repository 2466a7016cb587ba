import { concatHex, encodeAbiParameters, getCreate2Address, numberToHex, parseAbiParameters } from "viem";
import { once } from "../../kernel/async/once.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { agentMarketArtifact } from "../artifacts/agent-market.ts";
import { agentNFTArtifact } from "../artifacts/agent-nft.ts";
import { daSignersArtifact } from "../artifacts/da-signers.ts";
import { devTokenArtifact } from "../artifacts/dev-token.ts";
import { fineTuningServingArtifact } from "../artifacts/fine-tuning-serving.ts";
import { flowArtifact } from "../artifacts/flow.ts";
import { inferenceServingArtifact } from "../artifacts/inference-serving.ts";
import { ledgerManagerArtifact } from "../artifacts/ledger-manager.ts";
import { marketArtifact } from "../artifacts/market.ts";
import { teeVerifierArtifact } from "../artifacts/tee-verifier.ts";
import { vaultArtifact } from "../artifacts/vault.ts";
import { verifierArtifact } from "../artifacts/verifier.ts";
import { wrappedBaseArtifact } from "../artifacts/wrapped-base.ts";
import { wrappedTokenArtifact } from "../artifacts/wrapped-token.ts";
import { DEPLOYER, ORACLE } from "./accounts.ts";

/** The contracts of the development network, including the stand-ins for precompiles before they are copied. */
export const DEPLOYED = [
  "vault",
  "ledger",
  "inference",
  "fineTuning",
  "fineTuningV10",
  "flow",
  "market",
  "teeVerifier",
  "agentVerifier",
  "agentNft",
  "agentMarket",
  "devToken",
  "wrappedToken",
  "daSigners",
  "wrappedBase",
] as const;
export type Deployed = (typeof DEPLOYED)[number];

/** The CREATE2 address of a contract, and the call to the factory that deploys it. */
export type Deployment = { readonly address: Hex; readonly data: Hex };

/** The CREATE2 factory that exists on anvil from the first block (and on most public networks). */
export const FACTORY = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

/** The price of a sector of 256 bytes on the development network: 1 GB is about 0.004 tokens. */
const PRICE_PER_SECTOR_NEURON = 10n ** 9n;
const REFUND_LOCK_SECONDS = 3_600n;
/** The share of its fee that a fine-tuning provider gets if the user never acknowledges, percent. */
const PENALTY_PERCENT = 30n;
/** The market's fee: 2.5 % of a price. */
const MARKET_FEE_RATE = 250n;
const TEE = 0;

/**
 * Every contract, in the order of their dependencies. The addresses depend only on the code: the same on every
 * development chain, and different as soon as a contract changes. Hashing all of it takes 0.3 s.
 */
export const deployments = once((): Readonly<Record<Deployed, Deployment>> => {
  const owner = DEPLOYER.address;
  const ledger = at(
    ledgerManagerArtifact.bytecode,
    encodeAbiParameters(parseAbiParameters("address"), [owner]),
  );
  const market = at(
    marketArtifact.bytecode,
    encodeAbiParameters(parseAbiParameters("uint256"), [PRICE_PER_SECTOR_NEURON]),
  );
  const fineTuning = encodeAbiParameters(parseAbiParameters("uint256, address, address, uint256"), [
    REFUND_LOCK_SECONDS,
    ledger.address,
    owner,
    PENALTY_PERCENT,
  ]);
  const teeVerifier = at(
    teeVerifierArtifact.bytecode,
    encodeAbiParameters(parseAbiParameters("address, address"), [owner, ORACLE.address]),
  );
  const agentVerifier = at(
    verifierArtifact.bytecode,
    encodeAbiParameters(parseAbiParameters("(uint8 oracleType, address contractAddress)[], address"), [
      [{ oracleType: TEE, contractAddress: teeVerifier.address }],
      owner,
    ]),
  );
  const agentNft = at(
    agentNFTArtifact.bytecode,
    encodeAbiParameters(parseAbiParameters("string, string, string, address, address"), [
      "Development agents",
      "AGENT",
      "devnet",
      agentVerifier.address,
      owner,
    ]),
  );
  return {
    vault: at(vaultArtifact.bytecode),
    ledger,
    inference: at(
      inferenceServingArtifact.bytecode,
      encodeAbiParameters(parseAbiParameters("uint256, address, address"), [
        REFUND_LOCK_SECONDS,
        ledger.address,
        owner,
      ]),
    ),
    fineTuning: at(fineTuningServingArtifact.bytecode, fineTuning, 1),
    // The public network's two versions have one interface; ours are one contract twice.
    fineTuningV10: at(fineTuningServingArtifact.bytecode, fineTuning),
    market,
    flow: at(flowArtifact.bytecode, encodeAbiParameters(parseAbiParameters("address"), [market.address])),
    teeVerifier,
    agentVerifier,
    agentNft,
    agentMarket: at(
      agentMarketArtifact.bytecode,
      encodeAbiParameters(parseAbiParameters("address, uint256, address, uint256, uint256"), [
        agentNft.address,
        MARKET_FEE_RATE,
        owner,
        0n,
        0n,
      ]),
    ),
    devToken: at(devTokenArtifact.bytecode),
    wrappedToken: at(wrappedTokenArtifact.bytecode),
    daSigners: at(daSignersArtifact.bytecode),
    wrappedBase: at(wrappedBaseArtifact.bytecode),
  };
});

function at(bytecode: Hex, constructorArguments: Hex = "0x", salt = 0): Deployment {
  const creationCode = concatHex([bytecode, constructorArguments]);
  const saltWord = numberToHex(salt, { size: 32 });
  return {
    address: getCreate2Address({ from: FACTORY, salt: saltWord, bytecode: creationCode }),
    data: concatHex([saltWord, creationCode]),
  };
}
