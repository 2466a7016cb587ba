import { parseAbi } from "viem";

/**
 * Verifier, which checks the proofs of a transfer for AgentNFT (facts: router-and-chain 3.1). It changes its state: each
 * nonce is good once. Its refusals are texts: "Invalid dataHash", "Invalid ownership proof", "Proof already used".
 */
export const agentVerifierAbi = parseAbi([
  "struct AccessProof { bytes32 dataHash; bytes targetPubkey; bytes nonce; bytes proof; }",
  "struct OwnershipProof { uint8 oracleType; bytes32 dataHash; bytes sealedKey; bytes targetPubkey; bytes nonce; bytes proof; }",
  "struct TransferValidityProof { AccessProof accessProof; OwnershipProof ownershipProof; }",
  "struct TransferValidityProofOutput { bytes32 dataHash; bytes sealedKey; bytes targetPubkey; bytes wantedKey; address accessAssistant; bytes accessProofNonce; bytes ownershipProofNonce; }",
  "struct AttestationConfig { uint8 oracleType; address contractAddress; }",
  "event AdminChanged(address indexed oldAdmin, address indexed newAdmin)",
  "event AttestationContractUpdated(AttestationConfig[] attestationConfigs)",
  "event Paused(address account)",
  "event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender)",
  "event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender)",
  "event Unpaused(address account)",
  "function ADMIN_ROLE() view returns (bytes32)",
  "function OPERATOR_ROLE() view returns (bytes32)",
  "function VERSION() view returns (string)",
  "function admin() view returns (address)",
  "function attestationContract(uint8 oracleType) view returns (address)",
  "function cleanExpiredProofs(bytes32[] proofNonces)",
  "function hasRole(bytes32 role, address account) view returns (bool)",
  "function maxProofAge() view returns (uint256)",
  "function pause()",
  "function paused() view returns (bool)",
  "function setAdmin(address newAdmin)",
  "function unpause()",
  "function updateAttestationContract(AttestationConfig[] attestationConfigs)",
  "function updateMaxProofAge(uint256 maxProofAge)",
  "function verifyTransferValidity(TransferValidityProof[] proofs) returns (TransferValidityProofOutput[])",
  "error AccessControlUnauthorizedAccount(address account, bytes32 neededRole)",
  "error ECDSAInvalidSignature()",
  "error ECDSAInvalidSignatureLength(uint256 length)",
  "error ECDSAInvalidSignatureS(bytes32 s)",
  "error EnforcedPause()",
  "error ExpectedPause()",
]);

/** TeeVerifier, which knows the oracle by its address and checks its signatures (facts: router-and-chain 3.1). */
export const teeVerifierAbi = parseAbi([
  "event AdminChanged(address indexed oldAdmin, address indexed newAdmin)",
  "event OracleAddressUpdated(address indexed oldOracleAddress, address indexed newOracleAddress)",
  "function VERSION() view returns (string)",
  "function admin() view returns (address)",
  "function setAdmin(address newAdmin)",
  "function teeOracleAddress() view returns (address)",
  "function updateOracleAddress(address newOracleAddress)",
  "function verifyTEESignature(bytes32 dataHash, bytes signature) view returns (bool)",
  "error AccessControlUnauthorizedAccount(address account, bytes32 neededRole)",
  "error ECDSAInvalidSignature()",
  "error ECDSAInvalidSignatureLength(uint256 length)",
  "error ECDSAInvalidSignatureS(bytes32 s)",
]);
