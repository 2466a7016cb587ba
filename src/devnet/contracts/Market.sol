// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Storage at a fixed price a sector of 256 bytes.
contract Market {
    uint256 public immutable pricePerSector;

    constructor(uint256 price) {
        pricePerSector = price;
    }
}
