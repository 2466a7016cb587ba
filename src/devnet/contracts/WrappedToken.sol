// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

interface IWrappedBase {
    function mint(address minter, uint256 amount) external;
    function burn(address minter, uint256 amount) external payable;
}

/// The wrapped token: one for one against the native token, and minted by whoever has a quota at the precompile.
contract WrappedToken is ERC20("Wrapped 0G", "W0G") {
    event Deposit(address indexed dst, uint256 wad);
    event Withdrawal(address indexed src, uint256 wad);
    event Mint(address indexed minter, address indexed dst, uint256 wad);
    event Burn(address indexed minter, address indexed src, uint256 wad);

    IWrappedBase private constant BASE = IWrappedBase(0x0000000000000000000000000000000000001002);

    receive() external payable {
        if (msg.sender != address(BASE)) deposit();
    }

    function deposit() public payable {
        _mint(msg.sender, msg.value);
        emit Deposit(msg.sender, msg.value);
    }

    function withdraw(uint256 wad) external {
        _burn(msg.sender, wad);
        (bool sent, ) = msg.sender.call{value: wad}("");
        require(sent, "withdrawal failed");
        emit Withdrawal(msg.sender, wad);
    }

    function mint(address recipient, uint256 wad) external {
        BASE.mint(msg.sender, wad);
        _mint(recipient, wad);
        emit Mint(msg.sender, recipient, wad);
    }

    function burn(address src, uint256 wad) external {
        if (src != msg.sender) _spendAllowance(src, msg.sender, wad);
        _burn(src, wad);
        BASE.burn{value: wad}(msg.sender, wad);
        emit Burn(msg.sender, src, wad);
    }
}
