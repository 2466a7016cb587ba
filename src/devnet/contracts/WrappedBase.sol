// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

struct Supply {
    uint256 cap;
    uint256 initialSupply;
    uint256 supply;
}

/// Stands in for the precompile 0x1002 on a chain that has none: each minter's quota of the wrapped token. Anyone may set
/// what on the network its agency sets. What it mints it must own, so it is given a balance.
contract WrappedBase {
    address public getWA0GI;
    mapping(address minter => Supply) private _supplies;

    modifier onlyWrappedToken() {
        require(msg.sender == getWA0GI, "WrappedA0GIBase: sender is not WA0GI");
        _;
    }

    function setWA0GI(address token) external {
        getWA0GI = token;
    }

    function setMinterCap(address minter, uint256 cap, uint256 initialSupply) external {
        Supply storage supply = _supplies[minter];
        // What the minter has minted beyond its first supply stays counted.
        supply.supply = supply.supply + initialSupply - supply.initialSupply;
        supply.cap = cap;
        supply.initialSupply = initialSupply;
    }

    function mint(address minter, uint256 amount) external onlyWrappedToken {
        Supply storage supply = _supplies[minter];
        require(amount <= supply.cap && supply.supply <= supply.cap - amount, "WrappedA0GIBase: insufficient mint cap");
        supply.supply += amount;
        (bool sent, ) = msg.sender.call{value: amount}("");
        require(sent, "WrappedA0GIBase: mint failed");
    }

    /// The wrapped token sends along what is burned, since a contract cannot take it away.
    function burn(address minter, uint256 amount) external payable onlyWrappedToken {
        require(msg.value == amount, "WrappedA0GIBase: burn failed");
        require(_supplies[minter].supply >= amount, "WrappedA0GIBase: insufficient mint supply");
        _supplies[minter].supply -= amount;
    }

    function minterSupply(address minter) external view returns (Supply memory) {
        return _supplies[minter];
    }
}
