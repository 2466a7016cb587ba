// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

struct IntelligentData {
    string dataDescription;
    bytes32 dataHash;
}

enum OracleType {
    TEE,
    ZKP
}

/// Signed by the receiver, or by whom the receiver delegated: the data can be had, and under which key it is wanted.
struct AccessProof {
    bytes32 dataHash;
    bytes targetPubkey;
    bytes nonce;
    bytes proof;
}

/// Signed by the oracle: the data's key is sealed for `targetPubkey`.
struct OwnershipProof {
    OracleType oracleType;
    bytes32 dataHash;
    bytes sealedKey;
    bytes targetPubkey;
    bytes nonce;
    bytes proof;
}

struct TransferValidityProof {
    AccessProof accessProof;
    OwnershipProof ownershipProof;
}

struct TransferValidityProofOutput {
    bytes32 dataHash;
    bytes sealedKey;
    bytes targetPubkey;
    bytes wantedKey;
    address accessAssistant;
    bytes accessProofNonce;
    bytes ownershipProofNonce;
}

interface IERC7857DataVerifier {
    function verifyTransferValidity(
        TransferValidityProof[] calldata proofs
    ) external returns (TransferValidityProofOutput[] memory);
}

interface ITeeVerifier {
    function verifyTEESignature(bytes32 dataHash, bytes calldata signature) external view returns (bool);
}
