// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {Administered} from "./Administered.sol";
import {
    AccessProof,
    IERC7857DataVerifier,
    ITeeVerifier,
    OracleType,
    OwnershipProof,
    TransferValidityProof,
    TransferValidityProofOutput
} from "./AgentProofs.sol";

struct AttestationConfig {
    OracleType oracleType;
    address contractAddress;
}

/// Checks both proofs of a transfer, and that no nonce is used twice. Hashes, order of checks and texts of errors are
/// those of the public 0g-agent-nft; also that an old nonce may be forgotten by anyone, whereafter it is good again.
contract Verifier is IERC7857DataVerifier, Administered, Pausable {
    event AttestationContractUpdated(AttestationConfig[] attestationConfigs);

    string public constant VERSION = "1.0.0";

    mapping(OracleType oracleType => address) public attestationContract;
    uint256 public maxProofAge = 7 days;
    /// When a nonce was used, 0 for one that was not. Access and ownership proofs share one set.
    mapping(bytes32 nonceHash => uint256) private _usedAt;

    constructor(AttestationConfig[] memory configs, address admin_) Administered(admin_) {
        _setAttestation(configs);
    }

    function updateAttestationContract(AttestationConfig[] calldata configs) external onlyRole(ADMIN_ROLE) {
        _setAttestation(configs);
    }

    function updateMaxProofAge(uint256 newMaxProofAge) external onlyRole(ADMIN_ROLE) {
        maxProofAge = newMaxProofAge;
    }

    function pause() external onlyRole(OPERATOR_ROLE) {
        _pause();
    }

    function unpause() external onlyRole(OPERATOR_ROLE) {
        _unpause();
    }

    /// Whoever calls, a token contract as a rule, has nonces of its own.
    function verifyTransferValidity(
        TransferValidityProof[] calldata proofs
    ) external whenNotPaused returns (TransferValidityProofOutput[] memory outputs) {
        outputs = new TransferValidityProofOutput[](proofs.length);
        for (uint256 i = 0; i < proofs.length; i++) {
            AccessProof calldata access = proofs[i].accessProof;
            OwnershipProof calldata ownership = proofs[i].ownershipProof;
            require(access.dataHash == ownership.dataHash, "Invalid dataHash");
            outputs[i] = TransferValidityProofOutput({
                dataHash: access.dataHash,
                sealedKey: ownership.sealedKey,
                targetPubkey: ownership.targetPubkey,
                wantedKey: access.targetPubkey,
                accessAssistant: _accessSigner(access),
                accessProofNonce: access.nonce,
                ownershipProofNonce: ownership.nonce
            });
            require(_isOwnershipProven(ownership), "Invalid ownership proof");
            _useNonce(access.nonce);
            _useNonce(ownership.nonce);
        }
    }

    /// Forgets nonces by their hashes `keccak256(abi.encode(nonce, token contract))`, once they are old enough.
    function cleanExpiredProofs(bytes32[] calldata proofNonces) external {
        for (uint256 i = 0; i < proofNonces.length; i++) {
            uint256 usedAt = _usedAt[proofNonces[i]];
            if (usedAt != 0 && block.timestamp > usedAt + maxProofAge) delete _usedAt[proofNonces[i]];
        }
    }

    function _setAttestation(AttestationConfig[] memory configs) private {
        for (uint256 i = 0; i < configs.length; i++)
            attestationContract[configs[i].oracleType] = configs[i].contractAddress;
        emit AttestationContractUpdated(configs);
    }

    function _useNonce(bytes calldata nonce) private {
        bytes32 nonceHash = keccak256(abi.encode(nonce, msg.sender));
        require(_usedAt[nonceHash] == 0, "Proof already used");
        _usedAt[nonceHash] = block.timestamp;
    }

    function _accessSigner(AccessProof calldata access) private pure returns (address) {
        bytes32 inner = keccak256(abi.encodePacked(access.dataHash, access.targetPubkey, access.nonce));
        return ECDSA.recover(_signedDigest(inner), access.proof);
    }

    function _isOwnershipProven(OwnershipProof calldata ownership) private view returns (bool) {
        // There is no check of ZKPs yet, so none is good.
        if (ownership.oracleType != OracleType.TEE) return false;
        bytes32 inner = keccak256(
            abi.encodePacked(ownership.dataHash, ownership.sealedKey, ownership.targetPubkey, ownership.nonce)
        );
        ITeeVerifier tee = ITeeVerifier(attestationContract[OracleType.TEE]);
        return tee.verifyTEESignature(_signedDigest(inner), ownership.proof);
    }

    /// `personal_sign` of the hash as text, 0x and 64 lower-case digits; not of its 32 bytes.
    function _signedDigest(bytes32 inner) private pure returns (bytes32) {
        string memory text = Strings.toHexString(uint256(inner), 32);
        return keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n66", text));
    }
}
