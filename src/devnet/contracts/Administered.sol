// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";

/// One admin, who can hand over: what all contracts of the agent token have in common.
abstract contract Administered is AccessControl {
    event AdminChanged(address indexed oldAdmin, address indexed newAdmin);

    bytes32 public constant ADMIN_ROLE = keccak256("ADMIN_ROLE");
    bytes32 public constant OPERATOR_ROLE = keccak256("OPERATOR_ROLE");

    address public admin;

    constructor(address admin_) {
        require(admin_ != address(0), "Invalid admin address");
        admin = admin_;
        _grantRole(DEFAULT_ADMIN_ROLE, admin_);
        _grantRole(ADMIN_ROLE, admin_);
        _grantRole(OPERATOR_ROLE, admin_);
    }

    /// The old admin stays operator, as on the public network.
    function setAdmin(address newAdmin) external onlyRole(DEFAULT_ADMIN_ROLE) {
        require(newAdmin != address(0), "Invalid admin address");
        address oldAdmin = admin;
        if (oldAdmin == newAdmin) return;
        admin = newAdmin;
        _grantRole(DEFAULT_ADMIN_ROLE, newAdmin);
        _grantRole(ADMIN_ROLE, newAdmin);
        _revokeRole(DEFAULT_ADMIN_ROLE, oldAdmin);
        _revokeRole(ADMIN_ROLE, oldAdmin);
        emit AdminChanged(oldAdmin, newAdmin);
    }
}
