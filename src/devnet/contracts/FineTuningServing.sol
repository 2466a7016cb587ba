// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {Deliverable, FineTuningAccount, FineTuningAccounts} from "./FineTuningAccounts.sol";
import {FineTuningService} from "./FineTuningServices.sol";
import {Owned} from "./Owned.sol";

interface ISpendingLedger {
    function spendFund(address user, uint256 amount) external;
}

struct VerifierInput {
    string id;
    bytes encryptedSecret;
    bytes modelRootHash;
    uint256 nonce;
    bytes signature;
    uint256 taskFee;
    address user;
}

/// Fine-tuning on the direct path, under the signatures, limits and errors of the public FineTuningServing, which are the
/// same in versions 1.0 and 1.1. A provider delivers one model at a time; of 20 the oldest goes when another comes.
contract FineTuningServing is EIP712("0G Fine-Tuning Serving", "1"), FineTuningAccounts {
    event DeliverableAbandoned(
        address indexed user,
        address indexed provider,
        string deliverableId,
        uint256 timestamp
    );
    event DeliverableAcknowledged(
        address indexed user,
        address indexed provider,
        string deliverableId,
        uint256 timestamp
    );
    event DeliverableAdded(
        address indexed user,
        address indexed provider,
        string deliverableId,
        bytes modelRootHash,
        uint256 timestamp
    );
    event DeliverableEvicted(
        address indexed provider,
        address indexed user,
        string evictedDeliverableId,
        string newDeliverableId,
        uint256 timestamp
    );
    event FeesSettled(
        address indexed user,
        address indexed provider,
        string deliverableId,
        uint256 fee,
        bool acknowledged,
        uint256 nonce
    );

    error CannotAbandonSettledDeliverable(string id);
    error CannotAcknowledgeSettledDeliverable(string id);
    error CannotEvictUnsettledDeliverable(string id);
    error DeliverableAlreadyExists(string id);
    error DeliverableAlreadySettled(string id);
    error DeliverableIdInvalidLength(uint256 length);
    error DeliverableNotExists(string id);
    error InvalidVerifierInput(string reason);
    error PenaltyPercentageTooHigh(uint256 percentage);
    error PreviousDeliverableNotAcknowledged(string id);
    error SecretShouldBeEmpty();
    error SecretShouldNotBeEmpty();

    uint256 private constant MAX_DELIVERABLES = 20;
    uint256 private constant MAX_ID_BYTES = 256;
    bytes32 private constant MESSAGE_TYPEHASH =
        keccak256(
            "VerifierMessage(string id,bytes encryptedSecret,bytes modelRootHash,uint256 nonce,uint256 taskFee,address user)"
        );

    /// What the provider has of its fee when the user never acknowledged, percent.
    uint256 public penaltyPercentage;

    constructor(
        uint256 lockTime_,
        address ledger,
        address owner_,
        uint256 penaltyPercentage_
    ) Owned(owner_) FineTuningAccounts(lockTime_, ledger) {
        _setPenalty(penaltyPercentage_);
    }

    function updatePenaltyPercentage(uint256 _penaltyPercentage) external onlyOwner {
        _setPenalty(_penaltyPercentage);
    }

    /// Called by the provider. The one before must be acknowledged, or abandoned.
    function addDeliverable(address user, string calldata id, bytes calldata modelRootHash) external {
        uint256 idBytes = bytes(id).length;
        if (idBytes == 0 || idBytes > MAX_ID_BYTES) revert DeliverableIdInvalidLength(idBytes);
        FineTuningAccount storage account = _account(user, msg.sender);
        (bool exists, ) = _find(account, id);
        if (exists) revert DeliverableAlreadyExists(id);
        Deliverable[] storage deliverables = account.deliverables;
        uint256 count = deliverables.length;
        if (count > 0) {
            Deliverable storage latest = deliverables[count - 1];
            if (!latest.acknowledged && !latest.settled) revert PreviousDeliverableNotAcknowledged(latest.id);
        }
        if (count == MAX_DELIVERABLES) _evictOldest(user, account, id);
        deliverables.push(Deliverable(id, modelRootHash, "", false, uint248(block.timestamp), false));
        account.deliverablesCount = deliverables.length;
        emit DeliverableAdded(user, msg.sender, id, modelRootHash, block.timestamp);
    }

    function acknowledgeDeliverable(address provider, string calldata id) external {
        Deliverable storage deliverable = _deliverable(_account(msg.sender, provider), id);
        if (deliverable.settled) revert CannotAcknowledgeSettledDeliverable(id);
        deliverable.acknowledged = true;
        emit DeliverableAcknowledged(msg.sender, provider, id, block.timestamp);
    }

    /// Called by the provider, who asks nothing for it any more.
    function abandonDeliverable(address user, string calldata id) external {
        Deliverable storage deliverable = _deliverable(_account(user, msg.sender), id);
        if (deliverable.settled) revert CannotAbandonSettledDeliverable(id);
        deliverable.settled = true;
        emit DeliverableAbandoned(user, msg.sender, id, block.timestamp);
    }

    /// Called by the provider with what its enclave signed: the fee, in full against the secret that opens the model.
    function settleFees(VerifierInput calldata verifierInput) external {
        FineTuningAccount storage account = _account(verifierInput.user, msg.sender);
        _checkInput(account, verifierInput);
        Deliverable storage deliverable = _deliverable(account, verifierInput.id);
        if (deliverable.settled) revert DeliverableAlreadySettled(verifierInput.id);
        if (keccak256(deliverable.modelRootHash) != keccak256(verifierInput.modelRootHash))
            revert InvalidVerifierInput("model root hash mismatch");
        uint256 fee = verifierInput.taskFee;
        if (deliverable.acknowledged) {
            if (verifierInput.encryptedSecret.length == 0) revert SecretShouldNotBeEmpty();
            deliverable.encryptedSecret = verifierInput.encryptedSecret;
        } else {
            if (verifierInput.encryptedSecret.length != 0) revert SecretShouldBeEmpty();
            fee = (fee * penaltyPercentage) / 100;
        }
        account.nonce = verifierInput.nonce;
        deliverable.settled = true;
        emit FeesSettled(
            verifierInput.user,
            msg.sender,
            verifierInput.id,
            fee,
            deliverable.acknowledged,
            verifierInput.nonce
        );
        _payProvider(account, fee);
    }

    function getDeliverable(
        address user,
        address provider,
        string calldata id
    ) external view returns (Deliverable memory) {
        return _deliverable(_account(user, provider), id);
    }

    function getDeliverables(address user, address provider) external view returns (Deliverable[] memory) {
        return _account(user, provider).deliverables;
    }

    function _setPenalty(uint256 percentage) private {
        if (percentage > 100) revert PenaltyPercentageTooHigh(percentage);
        penaltyPercentage = percentage;
    }

    function _evictOldest(address user, FineTuningAccount storage account, string calldata newId) private {
        Deliverable[] storage deliverables = account.deliverables;
        string memory oldestId = deliverables[0].id;
        if (!deliverables[0].settled) revert CannotEvictUnsettledDeliverable(oldestId);
        for (uint256 i = 1; i < deliverables.length; i++) deliverables[i - 1] = deliverables[i];
        deliverables.pop();
        account.deliverablesHead = (account.deliverablesHead + 1) % MAX_DELIVERABLES;
        emit DeliverableEvicted(msg.sender, user, oldestId, newId, block.timestamp);
    }

    function _payProvider(FineTuningAccount storage account, uint256 fee) private {
        uint256 free = account.balance - account.pendingRefund;
        if (fee > free) _cancelRefunds(account, fee - free);
        account.balance -= fee;
        ISpendingLedger(ledgerAddress).spendFund(account.user, fee);
        emit BalanceUpdated(account.user, msg.sender, account.balance, account.pendingRefund);
        _sendNative(msg.sender, fee);
    }

    function _checkInput(FineTuningAccount storage account, VerifierInput calldata input) private view {
        FineTuningService storage service = _service(msg.sender);
        if (!account.acknowledged || !service.teeSignerAcknowledged || service.teeSignerAddress == address(0))
            revert InvalidVerifierInput("TEE signer not acknowledged");
        if (account.nonce >= input.nonce) revert InvalidVerifierInput("nonce should larger than the current nonce");
        if (account.balance < input.taskFee) revert InvalidVerifierInput("insufficient balance");
        bytes32 structHash = keccak256(
            abi.encode(
                MESSAGE_TYPEHASH,
                keccak256(bytes(input.id)),
                keccak256(input.encryptedSecret),
                keccak256(input.modelRootHash),
                input.nonce,
                input.taskFee,
                input.user
            )
        );
        (address signer, , ) = ECDSA.tryRecover(_hashTypedDataV4(structHash), input.signature);
        if (signer != service.teeSignerAddress) revert InvalidVerifierInput("TEE settlement validation failed");
    }

    function _deliverable(
        FineTuningAccount storage account,
        string calldata id
    ) private view returns (Deliverable storage) {
        (bool exists, uint256 index) = _find(account, id);
        if (!exists) revert DeliverableNotExists(id);
        return account.deliverables[index];
    }

    function _find(FineTuningAccount storage account, string calldata id) private view returns (bool, uint256) {
        bytes32 wanted = keccak256(bytes(id));
        for (uint256 i = 0; i < account.deliverables.length; i++)
            if (keccak256(bytes(account.deliverables[i].id)) == wanted) return (true, i);
        return (false, 0);
    }
}
