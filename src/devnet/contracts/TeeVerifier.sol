// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {Administered} from "./Administered.sol";
import {ITeeVerifier} from "./AgentProofs.sol";

/// Knows the oracle by its address, and whether it signed.
contract TeeVerifier is ITeeVerifier, Administered {
    event OracleAddressUpdated(address indexed oldOracleAddress, address indexed newOracleAddress);

    string public constant VERSION = "1.0.0";

    address public teeOracleAddress;

    constructor(address admin_, address oracle) Administered(admin_) {
        require(oracle != address(0), "Invalid tee oracle address");
        teeOracleAddress = oracle;
    }

    function updateOracleAddress(address newOracleAddress) external onlyRole(ADMIN_ROLE) {
        require(newOracleAddress != address(0), "Invalid tee oracle address");
        emit OracleAddressUpdated(teeOracleAddress, newOracleAddress);
        teeOracleAddress = newOracleAddress;
    }

    function verifyTEESignature(bytes32 dataHash, bytes calldata signature) external view returns (bool) {
        require(signature.length == 65, "Invalid signature length");
        return ECDSA.recover(dataHash, signature) == teeOracleAddress;
    }
}
