// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {Administered} from "./Administered.sol";

/// The money in the market: what accounts deposited, and the fees of the platform and of its partners. Rates are in
/// hundredths of a percent; the zero address stands for the native token.
abstract contract MarketBalances is Administered, Pausable, ReentrancyGuard {
    using SafeERC20 for IERC20;

    event FeesWithdrawn(address indexed admin, address currency, uint256 amount);
    event FeeRateUpdated(uint256 oldFeeRate, uint256 newFeeRate);
    event PartnerFeeRateUpdated(address indexed partner, uint256 oldRate, uint256 newRate);
    event PartnerFeesWithdrawn(address indexed partner, address currency, uint256 amount);
    event ContractPaused(address indexed admin);
    event ContractUnpaused(address indexed admin);
    /// `balance` is the account's new balance.
    event Deposit(address indexed account, uint256 balance);
    /// `balance`, for all its name, is the amount that was taken out.
    event Withdraw(address indexed account, uint256 balance);

    uint256 public constant MAX_FEE_RATE = 1000;
    uint256 internal constant WHOLE = 10000;
    address internal constant NATIVE = address(0);

    uint256 public getFeeRate;
    mapping(address account => uint256) public getBalance;
    mapping(address currency => uint256) public getFeeBalance;
    /// A partner's share of the fee, not of the price.
    mapping(address partner => uint256) public getPartnerFeeRate;
    mapping(address partner => mapping(address currency => uint256)) public getPartnerFeeBalance;

    modifier whenOpen() {
        require(!paused(), "Contract is paused");
        _;
    }

    constructor(uint256 feeRate) {
        require(feeRate <= MAX_FEE_RATE, "Fee rate too high");
        getFeeRate = feeRate;
    }

    function deposit(address account) external payable whenOpen {
        require(msg.value > 0, "Must send ETH");
        require(account != address(0), "Invalid address");
        getBalance[account] += msg.value;
        emit Deposit(account, getBalance[account]);
    }

    function withdraw(address account, uint256 amount) external whenOpen {
        require(msg.sender == account || msg.sender == admin, "Only the account or admin can withdraw");
        _takeBalance(account, amount, "Insufficient balance");
        _sendNative(account, amount);
        emit Withdraw(account, amount);
    }

    function setFeeRate(uint256 newFeeRate) external onlyRole(ADMIN_ROLE) {
        require(newFeeRate <= MAX_FEE_RATE, "Fee rate too high");
        emit FeeRateUpdated(getFeeRate, newFeeRate);
        getFeeRate = newFeeRate;
    }

    function setPartnerFeeRate(address partner, uint256 feeShareRate) external onlyRole(ADMIN_ROLE) {
        require(partner != address(0), "Invalid partner address");
        require(feeShareRate <= WHOLE, "Fee share rate too high");
        emit PartnerFeeRateUpdated(partner, getPartnerFeeRate[partner], feeShareRate);
        getPartnerFeeRate[partner] = feeShareRate;
    }

    function withdrawFees(address currency) external onlyRole(ADMIN_ROLE) {
        uint256 amount = getFeeBalance[currency];
        require(amount > 0, "No fees to withdraw");
        getFeeBalance[currency] = 0;
        _send(admin, currency, amount);
        emit FeesWithdrawn(admin, currency, amount);
    }

    function withdrawPartnerFees(address currency) external nonReentrant whenNotPaused {
        uint256 amount = getPartnerFeeBalance[msg.sender][currency];
        require(amount > 0, "No fees to withdraw");
        getPartnerFeeBalance[msg.sender][currency] = 0;
        _send(msg.sender, currency, amount);
        emit PartnerFeesWithdrawn(msg.sender, currency, amount);
    }

    function pause() external onlyRole(OPERATOR_ROLE) {
        _pause();
        emit ContractPaused(msg.sender);
    }

    function unpause() external onlyRole(OPERATOR_ROLE) {
        _unpause();
        emit ContractUnpaused(msg.sender);
    }

    function isPaused() external view returns (bool) {
        return paused();
    }

    /// Moves a price: the fee to platform and creator, the rest to the seller. Native money comes with the call, what is
    /// too much going back to the caller, or else out of the buyer's balance.
    function _pay(address buyer, address seller, address currency, uint256 price, address creator) internal {
        uint256 fee = (price * getFeeRate) / WHOLE;
        if (currency != NATIVE) {
            require(msg.value == 0, "ETH not accepted for ERC20 payments");
            IERC20(currency).safeTransferFrom(buyer, seller, price - fee);
            IERC20(currency).safeTransferFrom(buyer, address(this), fee);
            _bookFee(currency, fee, creator);
            return;
        }
        if (msg.value == 0) _takeBalance(buyer, price, "Insufficient balance");
        else require(msg.value >= price, "Insufficient payment");
        _bookFee(currency, fee, creator);
        _sendNative(seller, price - fee);
        if (msg.value <= price) return;
        (bool sent, ) = msg.sender.call{value: msg.value - price}("");
        require(sent, "Refund failed");
    }

    function _takeBalance(address account, uint256 amount, string memory otherwise) internal {
        require(getBalance[account] >= amount, otherwise);
        getBalance[account] -= amount;
    }

    function _bookFee(address currency, uint256 fee, address creator) private {
        uint256 share = creator == address(0) ? 0 : (fee * getPartnerFeeRate[creator]) / WHOLE;
        if (share > 0) getPartnerFeeBalance[creator][currency] += share;
        getFeeBalance[currency] += fee - share;
    }

    function _send(address to, address currency, uint256 amount) private {
        if (currency == NATIVE) _sendNative(to, amount);
        else IERC20(currency).safeTransfer(to, amount);
    }

    function _sendNative(address to, uint256 amount) private {
        require(to != address(0), "Invalid recipient");
        require(amount > 0, "Invalid amount");
        (bool sent, ) = to.call{value: amount}("");
        require(sent, "Native token transfer failed");
    }
}
