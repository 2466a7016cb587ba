// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Owned} from "./Owned.sol";
import {ProviderServices} from "./ProviderServices.sol";

struct Refund {
    uint256 index;
    uint256 amount;
    uint256 createdAt;
    bool processed;
}

struct Account {
    address user;
    address provider;
    uint256 nonce;
    uint256 balance;
    uint256 pendingRefund;
    Refund[] refunds;
    string additionalInfo;
    bool acknowledged;
    uint256 validRefundsLength;
    uint256 generation;
    uint256 revokedBitmap;
}

/// Providers' services and users' sub-accounts at them, under the signatures, minimums and errors of the public network's
/// InferenceServing v1.0. There is no settlement: on a development network nobody is paid.
contract InferenceServing is ProviderServices {
    event AllTokensRevoked(address indexed user, address indexed provider, uint256 newGeneration);
    event BalanceUpdated(address indexed user, address indexed provider, uint256 amount, uint256 pendingRefund);
    event RefundRequested(address indexed user, address indexed provider, uint256 indexed index, uint256 timestamp);
    event TokenRevoked(address indexed user, address indexed provider, uint8 tokenId);
    event TokensRevoked(address indexed user, address indexed provider, uint8[] tokenIds);

    error AccountExists(address user, address provider);
    error AccountNotExists(address user, address provider);
    error CallerNotLedger(address caller);
    error CannotRevokeWithNonZeroBalance(address user, address provider, uint256 balance);
    error TooManyRefunds(address user, address provider);

    uint256 private constant MAX_REFUNDS = 5;
    /// Token ids up to 254 are persistent; 255 is ephemeral and dies with its generation only.
    uint8 private constant EPHEMERAL_TOKEN = 255;

    address public immutable ledgerAddress;
    uint256 public immutable lockTime;

    mapping(address user => mapping(address provider => Account)) private _accounts;
    mapping(address user => address[]) private _providersOf;
    mapping(address provider => address[]) private _usersOf;

    modifier onlyLedger() {
        if (msg.sender != ledgerAddress) revert CallerNotLedger(msg.sender);
        _;
    }

    constructor(uint256 lockTime_, address ledger, address owner_) Owned(owner_) {
        lockTime = lockTime_;
        ledgerAddress = ledger;
    }

    /// The user's own word on the provider's signer; it cannot be taken back while money lies there.
    function acknowledgeTEESigner(address provider, bool acknowledged) external {
        Account storage account = _existing(msg.sender, provider);
        if (!acknowledged && account.balance != 0)
            revert CannotRevokeWithNonZeroBalance(msg.sender, provider, account.balance);
        account.acknowledged = acknowledged;
    }

    function revokeToken(address provider, uint8 tokenId) external {
        _revoke(provider, tokenId);
        emit TokenRevoked(msg.sender, provider, tokenId);
    }

    function revokeTokens(address provider, uint8[] calldata tokenIds) external {
        for (uint256 i = 0; i < tokenIds.length; i++) _revoke(provider, tokenIds[i]);
        emit TokensRevoked(msg.sender, provider, tokenIds);
    }

    /// A new generation: every token signed so far is void, and all 255 ids are free again.
    function revokeAllTokens(address provider) external {
        Account storage account = _existing(msg.sender, provider);
        account.generation++;
        account.revokedBitmap = 0;
        emit AllTokensRevoked(msg.sender, provider, account.generation);
    }

    function isTokenRevoked(address user, address provider, uint8 tokenId) external view returns (bool) {
        return (_existing(user, provider).revokedBitmap >> tokenId) & 1 == 1;
    }

    function addAccount(
        address user,
        address provider,
        string memory additionalInfo
    ) external payable onlyLedger {
        Account storage account = _accounts[user][provider];
        if (account.user != address(0)) revert AccountExists(user, provider);
        account.user = user;
        account.provider = provider;
        account.balance = msg.value;
        account.additionalInfo = additionalInfo;
        account.acknowledged = true;
        _providersOf[user].push(provider);
        _usersOf[provider].push(user);
        emit BalanceUpdated(user, provider, account.balance, 0);
    }

    /// Adds the value, and takes `cancelRetrievingAmount` out of the refunds under way, the newest first.
    function depositFund(
        address user,
        address provider,
        uint256 cancelRetrievingAmount
    ) external payable onlyLedger {
        Account storage account = _existing(user, provider);
        account.balance += msg.value;
        account.pendingRefund -= cancelRetrievingAmount;
        account.acknowledged = true;
        Refund[] storage refunds = account.refunds;
        for (uint256 left = cancelRetrievingAmount; left > 0; ) {
            Refund storage newest = refunds[refunds.length - 1];
            if (newest.amount > left) {
                newest.amount -= left;
                break;
            }
            left -= newest.amount;
            refunds.pop();
        }
        account.validRefundsLength = refunds.length;
        emit BalanceUpdated(user, provider, account.balance, account.pendingRefund);
    }

    function requestRefundAll(address user, address provider) external onlyLedger {
        Account storage account = _existing(user, provider);
        uint256 amount = account.balance - account.pendingRefund;
        if (amount == 0) return;
        uint256 index = account.refunds.length;
        if (index >= MAX_REFUNDS) revert TooManyRefunds(user, provider);
        account.refunds.push(Refund(index, amount, block.timestamp, false));
        account.validRefundsLength = index + 1;
        account.pendingRefund = account.balance;
        emit RefundRequested(user, provider, index, block.timestamp);
    }

    /// Pays the ledger every refund that has waited `lockTime`.
    function processRefund(
        address user,
        address provider
    ) external onlyLedger returns (uint256 totalAmount, uint256 balance, uint256 pendingRefund) {
        Account storage account = _existing(user, provider);
        Refund[] storage refunds = account.refunds;
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
        _send(ledgerAddress, totalAmount);
    }

    function accountExists(address user, address provider) external view returns (bool) {
        return _accounts[user][provider].user != address(0);
    }

    function getAccount(address user, address provider) external view returns (Account memory) {
        return _existing(user, provider);
    }

    function getPendingRefund(address user, address provider) external view returns (uint256) {
        return _existing(user, provider).pendingRefund;
    }

    function getAccountsByUser(
        address user,
        uint256 offset,
        uint256 limit
    ) external view returns (Account[] memory accounts, uint256 total) {
        total = _providersOf[user].length;
        accounts = new Account[](_pageLength(offset, limit, total));
        for (uint256 i = 0; i < accounts.length; i++) accounts[i] = _accounts[user][_providersOf[user][offset + i]];
    }

    function getAccountsByProvider(
        address provider,
        uint256 offset,
        uint256 limit
    ) external view returns (Account[] memory accounts, uint256 total) {
        total = _usersOf[provider].length;
        accounts = new Account[](_pageLength(offset, limit, total));
        for (uint256 i = 0; i < accounts.length; i++) accounts[i] = _accounts[_usersOf[provider][offset + i]][provider];
    }

    function _revoke(address provider, uint8 tokenId) private {
        require(tokenId != EPHEMERAL_TOKEN, "Ephemeral tokens end with their generation");
        _existing(msg.sender, provider).revokedBitmap |= 1 << tokenId;
    }

    function _existing(address user, address provider) private view returns (Account storage account) {
        account = _accounts[user][provider];
        if (account.user == address(0)) revert AccountNotExists(user, provider);
    }
}
