// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// The development network's deposit vault. The public network's vault ABI is not published, so this one is ours:
/// the router reads event and address from its configuration.
contract Vault {
    event Deposited(address indexed account, uint256 amount);

    error ZeroAmount();
    error ZeroAccount();

    mapping(address account => uint256) public balanceOf;

    function deposit() external payable {
        _credit(msg.sender);
    }

    /// Anyone may pay for anyone; the event names who is credited, not who paid.
    function depositFor(address account) external payable {
        if (account == address(0)) revert ZeroAccount();
        _credit(account);
    }

    function _credit(address account) private {
        if (msg.value == 0) revert ZeroAmount();
        balanceOf[account] += msg.value;
        emit Deposited(account, msg.value);
    }
}
