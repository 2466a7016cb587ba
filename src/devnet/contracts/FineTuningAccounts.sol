// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {FineTuningServices} from "./FineTuningServices.sol";

struct FineTuningRefund {
    uint256 index;
    uint256 amount;
    uint256 createdAt;
    bool _deprecated_processed;
}

struct Deliverable {
    string id;
    bytes modelRootHash;
    bytes encryptedSecret;
    bool acknowledged;
    uint248 timestamp;
    bool settled;
}

/// What is shown of an account as a whole; what is kept of it is the same.
struct FineTuningAccount {
    address user;
    address provider;
    uint256 nonce;
    uint256 balance;
    uint256 pendingRefund;
    FineTuningRefund[] refunds;
    string additionalInfo;
    Deliverable[] deliverables;
    uint256 validRefundsLength;
    uint256 deliverablesHead;
    uint256 deliverablesCount;
    bool acknowledged;
}

struct AccountSummary {
    address user;
    address provider;
    uint256 nonce;
    uint256 balance;
    uint256 pendingRefund;
    string additionalInfo;
    uint256 validRefundsLength;
    uint256 deliverablesCount;
    bool acknowledged;
}

/// Users' sub-accounts at fine-tuning providers, which the ledger fills and empties.
abstract contract FineTuningAccounts is FineTuningServices {
    event AccountDeleted(address indexed user, address indexed provider, uint256 refundedAmount);
    event BalanceUpdated(address indexed user, address indexed provider, uint256 amount, uint256 pendingRefund);
    event LockTimeUpdated(uint256 oldLockTime, uint256 newLockTime);
    event RefundRequested(address indexed user, address indexed provider, uint256 indexed index, uint256 timestamp);

    error AccountExists(address user, address provider);
    error AccountNotExists(address user, address provider);
    error BatchSizeTooLarge(uint256 size, uint256 maxSize);
    error CallerNotLedger();
    error CannotRevokeWithNonZeroBalance(address user, address provider, uint256 balance);
    error DirectDepositsDisabled();
    error InvalidLedgerAddress();
    error LimitTooLarge(uint256 limit);
    error LockTimeOutOfRange(uint256 lockTime);
    error TooManyRefunds(address user, address provider);
    error TransferToLedgerFailed();

    uint256 public constant MIN_LOCKTIME = 1 hours;
    uint256 public constant MAX_LOCKTIME = 7 days;
    uint256 private constant MAX_REFUNDS = 5;
    uint256 private constant MAX_PAGE = 50;
    uint256 private constant MAX_BATCH = 500;

    address public immutable ledgerAddress;
    uint256 public lockTime;

    mapping(address user => mapping(address provider => FineTuningAccount)) private _accounts;
    mapping(address user => address[]) private _providersOf;
    mapping(address provider => address[]) private _usersOf;
    /// User and provider of every account.
    address[2][] private _all;

    modifier onlyLedger() {
        if (msg.sender != ledgerAddress) revert CallerNotLedger();
        _;
    }

    constructor(uint256 lockTime_, address ledger) {
        if (ledger.code.length == 0) revert InvalidLedgerAddress();
        ledgerAddress = ledger;
        _setLockTime(lockTime_);
    }

    receive() external payable {
        revert DirectDepositsDisabled();
    }

    function updateLockTime(uint256 _locktime) external onlyOwner {
        emit LockTimeUpdated(lockTime, _locktime);
        _setLockTime(_locktime);
    }

    /// The user's own word on the provider's signer; it cannot be taken back while money lies there.
    function acknowledgeTEESigner(address provider, bool acknowledged) external {
        FineTuningAccount storage account = _account(msg.sender, provider);
        if (!acknowledged && account.balance != 0)
            revert CannotRevokeWithNonZeroBalance(msg.sender, provider, account.balance);
        account.acknowledged = acknowledged;
    }

    function addAccount(
        address user,
        address provider,
        string calldata additionalInfo
    ) external payable onlyLedger {
        FineTuningAccount storage account = _accounts[user][provider];
        if (account.user != address(0)) revert AccountExists(user, provider);
        account.user = user;
        account.provider = provider;
        account.balance = msg.value;
        account.additionalInfo = additionalInfo;
        account.acknowledged = true;
        _providersOf[user].push(provider);
        _usersOf[provider].push(user);
        _all.push([user, provider]);
        emit BalanceUpdated(user, provider, msg.value, 0);
    }

    /// Adds the value, and takes `cancelRetrievingAmount` out of the refunds under way, the newest first.
    function depositFund(
        address user,
        address provider,
        uint256 cancelRetrievingAmount
    ) external payable onlyLedger {
        FineTuningAccount storage account = _account(user, provider);
        _cancelRefunds(account, cancelRetrievingAmount);
        account.balance += msg.value;
        account.acknowledged = true;
        emit BalanceUpdated(user, provider, account.balance, account.pendingRefund);
    }

    function requestRefundAll(address user, address provider) external onlyLedger {
        FineTuningAccount storage account = _account(user, provider);
        uint256 amount = account.balance - account.pendingRefund;
        if (amount == 0) return;
        uint256 index = account.refunds.length;
        if (index >= MAX_REFUNDS) revert TooManyRefunds(user, provider);
        account.refunds.push(FineTuningRefund(index, amount, block.timestamp, false));
        account.validRefundsLength = index + 1;
        account.pendingRefund = account.balance;
        emit RefundRequested(user, provider, index, block.timestamp);
    }

    /// Pays the ledger every refund that has waited `lockTime`.
    function processRefund(
        address user,
        address provider
    ) external onlyLedger returns (uint256 totalAmount, uint256 balance, uint256 pendingRefund) {
        FineTuningAccount storage account = _account(user, provider);
        FineTuningRefund[] storage refunds = account.refunds;
        for (uint256 i = 0; i < refunds.length; ) {
            if (block.timestamp < refunds[i].createdAt + lockTime) {
                i++;
                continue;
            }
            totalAmount += refunds[i].amount;
            refunds[i] = refunds[refunds.length - 1];
            refunds[i].index = i;
            refunds.pop();
        }
        account.balance -= totalAmount;
        account.pendingRefund -= totalAmount;
        account.validRefundsLength = refunds.length;
        (balance, pendingRefund) = (account.balance, account.pendingRefund);
        if (totalAmount == 0) return (totalAmount, balance, pendingRefund);
        emit BalanceUpdated(user, provider, balance, pendingRefund);
        (bool sent, ) = ledgerAddress.call{value: totalAmount}("");
        if (!sent) revert TransferToLedgerFailed();
    }

    function accountExists(address user, address provider) external view returns (bool) {
        return _accounts[user][provider].user != address(0);
    }

    function getAccount(address user, address provider) external view returns (FineTuningAccount memory) {
        return _account(user, provider);
    }

    function getPendingRefund(address user, address provider) external view returns (uint256) {
        return _account(user, provider).pendingRefund;
    }

    function getAllAccounts(
        uint256 offset,
        uint256 limit
    ) external view returns (AccountSummary[] memory accounts, uint256 total) {
        total = _all.length;
        accounts = new AccountSummary[](_pageLength(offset, limit, total));
        for (uint256 i = 0; i < accounts.length; i++) accounts[i] = _summary(_all[offset + i][0], _all[offset + i][1]);
    }

    function getAccountsByProvider(
        address provider,
        uint256 offset,
        uint256 limit
    ) external view returns (AccountSummary[] memory accounts, uint256 total) {
        total = _usersOf[provider].length;
        accounts = new AccountSummary[](_pageLength(offset, limit, total));
        for (uint256 i = 0; i < accounts.length; i++) accounts[i] = _summary(_usersOf[provider][offset + i], provider);
    }

    function getAccountsByUser(
        address user,
        uint256 offset,
        uint256 limit
    ) external view returns (AccountSummary[] memory accounts, uint256 total) {
        total = _providersOf[user].length;
        accounts = new AccountSummary[](_pageLength(offset, limit, total));
        for (uint256 i = 0; i < accounts.length; i++) accounts[i] = _summary(user, _providersOf[user][offset + i]);
    }

    /// Their accounts at whoever asks; empty ones for those who have none.
    function getBatchAccountsByUsers(
        address[] calldata users
    ) external view returns (AccountSummary[] memory accounts) {
        if (users.length > MAX_BATCH) revert BatchSizeTooLarge(users.length, MAX_BATCH);
        accounts = new AccountSummary[](users.length);
        for (uint256 i = 0; i < users.length; i++) accounts[i] = _summary(users[i], msg.sender);
    }

    function _account(address user, address provider) internal view returns (FineTuningAccount storage account) {
        account = _accounts[user][provider];
        if (account.user == address(0)) revert AccountNotExists(user, provider);
    }

    function _cancelRefunds(FineTuningAccount storage account, uint256 amount) internal {
        FineTuningRefund[] storage refunds = account.refunds;
        account.pendingRefund -= amount;
        while (amount > 0) {
            FineTuningRefund storage newest = refunds[refunds.length - 1];
            if (newest.amount > amount) {
                newest.amount -= amount;
                break;
            }
            amount -= newest.amount;
            refunds.pop();
        }
        account.validRefundsLength = refunds.length;
    }

    function _setLockTime(uint256 newLockTime) private {
        if (newLockTime < MIN_LOCKTIME || newLockTime > MAX_LOCKTIME) revert LockTimeOutOfRange(newLockTime);
        lockTime = newLockTime;
    }

    function _summary(address user, address provider) private view returns (AccountSummary memory summary) {
        FineTuningAccount storage account = _accounts[user][provider];
        summary.user = account.user;
        summary.provider = account.provider;
        summary.nonce = account.nonce;
        summary.balance = account.balance;
        summary.pendingRefund = account.pendingRefund;
        summary.additionalInfo = account.additionalInfo;
        summary.validRefundsLength = account.validRefundsLength;
        summary.deliverablesCount = account.deliverablesCount;
        summary.acknowledged = account.acknowledged;
    }

    function _pageLength(uint256 offset, uint256 limit, uint256 total) private pure returns (uint256) {
        if (limit > MAX_PAGE) revert LimitTooLarge(limit);
        if (offset >= total) return 0;
        uint256 size = limit == 0 ? MAX_PAGE : limit;
        return total - offset < size ? total - offset : size;
    }
}
