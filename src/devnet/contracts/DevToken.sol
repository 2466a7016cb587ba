// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// Play money, of which anybody may have as much as they like.
contract DevToken is ERC20("Development dollar", "DEVUSD") {
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
