// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Owned} from "./Owned.sol";
import {ServiceRegistry} from "./ServiceRegistry.sol";

interface IServing {
    function accountExists(address user, address provider) external view returns (bool);
    function getPendingRefund(address user, address provider) external view returns (uint256);
    function addAccount(address user, address provider, string memory additionalInfo) external payable;
    function depositFund(address user, address provider, uint256 cancelRetrievingAmount) external payable;
    function requestRefundAll(address user, address provider) external;
    function processRefund(
        address user,
        address provider
    ) external returns (uint256 totalAmount, uint256 balance, uint256 pendingRefund);
}

struct Ledger {
    address user;
    uint256 availableBalance;
    uint256 totalBalance;
    string additionalInfo;
}

/// Users' money on the direct path: one ledger a user, from which sub-accounts at providers are filled. Signatures,
/// minimums and errors are those of the public network's LedgerManager; as there, no event tells a deposit.
contract LedgerManager is ServiceRegistry {
    event FundSpent(address indexed user, address indexed service, uint256 amount);

    error DirectDepositsDisabled();
    error CallerNotRegisteredService(address caller);
    error InsufficientAvailableBalance(uint256 available, uint256 required);
    error LedgerExists(address user);
    error LedgerNotExists(address user);
    error MinimumDepositRequired(uint256 provided, uint256 required);
    error TooManyProviders(uint256 requested, uint256 maximum);
    error TooManyProvidersForService(uint256 current, uint256 maximum);
    error TransferFailed();
    error ZeroAmountNotAllowed();

    uint256 public constant MIN_ACCOUNT_BALANCE = 3 ether;
    uint256 public constant MIN_TRANSFER_AMOUNT = 1 ether;
    uint256 public constant MAX_PROVIDERS_PER_BATCH = 20;
    uint256 public constant MAX_PROVIDERS_PER_USER_PER_SERVICE = 50;
    uint256 private constant MAX_PAGE = 50;

    mapping(address user => Ledger) private _ledgers;
    address[] private _users;
    mapping(address user => mapping(address service => address[])) private _providers;

    constructor(address owner_) Owned(owner_) {}

    /// Only refunds of a registered service come in bare.
    receive() external payable {
        if (!_isService(msg.sender)) revert DirectDepositsDisabled();
    }

    function addLedger(string memory additionalInfo) external payable returns (uint256, uint256) {
        if (_ledgers[msg.sender].user != address(0)) revert LedgerExists(msg.sender);
        if (msg.value < MIN_ACCOUNT_BALANCE) revert MinimumDepositRequired(msg.value, MIN_ACCOUNT_BALANCE);
        _ledgers[msg.sender] = Ledger(msg.sender, msg.value, msg.value, additionalInfo);
        _users.push(msg.sender);
        return (msg.value, _users.length - 1);
    }

    function depositFund() external payable {
        _deposit(msg.sender);
    }

    function depositFundFor(address recipient) external payable {
        _deposit(recipient);
    }

    /// Takes money back out of what no sub-account holds. What stays is nothing, or enough for a ledger.
    function refund(uint256 amount) external {
        Ledger storage ledger = _existing(msg.sender);
        if (amount == 0) revert ZeroAmountNotAllowed();
        if (ledger.availableBalance < amount) revert InsufficientAvailableBalance(ledger.availableBalance, amount);
        uint256 left = ledger.totalBalance - amount;
        if (left != 0 && left < MIN_ACCOUNT_BALANCE) revert MinimumDepositRequired(left, MIN_ACCOUNT_BALANCE);
        ledger.availableBalance -= amount;
        ledger.totalBalance = left;
        (bool sent, ) = msg.sender.call{value: amount}("");
        if (!sent) revert TransferFailed();
    }

    /// Moves `amount` to the sub-account at `provider`, opening it at the first transfer. A refund that is under way
    /// is cancelled before fresh money is taken.
    function transferFund(address provider, string memory serviceName, uint256 amount) external {
        Ledger storage ledger = _existing(msg.sender);
        address service = getServiceAddressByName(serviceName);
        IServing serving = IServing(service);
        if (serving.accountExists(msg.sender, provider)) {
            uint256 pending = serving.getPendingRefund(msg.sender, provider);
            uint256 cancelled = amount < pending ? amount : pending;
            _take(ledger, amount - cancelled);
            serving.depositFund{value: amount - cancelled}(msg.sender, provider, cancelled);
            return;
        }
        if (amount < MIN_TRANSFER_AMOUNT) revert MinimumDepositRequired(amount, MIN_TRANSFER_AMOUNT);
        address[] storage providers = _providers[msg.sender][service];
        if (providers.length >= MAX_PROVIDERS_PER_USER_PER_SERVICE)
            revert TooManyProvidersForService(providers.length, MAX_PROVIDERS_PER_USER_PER_SERVICE);
        _take(ledger, amount);
        providers.push(provider);
        serving.addAccount{value: amount}(msg.sender, provider, "");
    }

    /// Collects what has waited out its lock, and asks for the rest of each sub-account.
    function retrieveFund(address[] memory providers, string memory serviceName) external {
        if (providers.length > MAX_PROVIDERS_PER_BATCH)
            revert TooManyProviders(providers.length, MAX_PROVIDERS_PER_BATCH);
        Ledger storage ledger = _existing(msg.sender);
        IServing serving = IServing(getServiceAddressByName(serviceName));
        for (uint256 i = 0; i < providers.length; i++) {
            (uint256 collected, , ) = serving.processRefund(msg.sender, providers[i]);
            ledger.availableBalance += collected;
            serving.requestRefundAll(msg.sender, providers[i]);
        }
    }

    /// A service tells what it has paid out of a user's sub-account.
    function spendFund(address user, uint256 amount) external {
        if (!_isService(msg.sender)) revert CallerNotRegisteredService(msg.sender);
        _existing(user).totalBalance -= amount;
        emit FundSpent(user, msg.sender, amount);
    }

    function getLedger(address user) external view returns (Ledger memory) {
        return _existing(user);
    }

    function getLedgerProviders(address user, string memory serviceName) external view returns (address[] memory) {
        return _providers[user][getServiceAddressByName(serviceName)];
    }

    function getAllLedgers(
        uint256 offset,
        uint256 limit
    ) external view returns (Ledger[] memory ledgers, uint256 total) {
        total = _users.length;
        uint256 end = offset + (limit == 0 || limit > MAX_PAGE ? MAX_PAGE : limit);
        if (end > total) end = total;
        ledgers = new Ledger[](offset < end ? end - offset : 0);
        for (uint256 i = 0; i < ledgers.length; i++) ledgers[i] = _ledgers[_users[offset + i]];
    }

    function _deposit(address user) private {
        if (msg.value == 0) revert ZeroAmountNotAllowed();
        Ledger storage ledger = _existing(user);
        ledger.availableBalance += msg.value;
        ledger.totalBalance += msg.value;
    }

    function _take(Ledger storage ledger, uint256 amount) private {
        if (ledger.availableBalance < amount) revert InsufficientAvailableBalance(ledger.availableBalance, amount);
        ledger.availableBalance -= amount;
    }

    function _existing(address user) private view returns (Ledger storage ledger) {
        ledger = _ledgers[user];
        if (ledger.user == address(0)) revert LedgerNotExists(user);
    }
}
