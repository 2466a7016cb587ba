// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Takes signatures of its owner's key (EIP-1271).
contract KeyWallet {
    address immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        address signer = ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        return signer == owner && signer != address(0) ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

/// Puts wallets at addresses that are known before (ERC-6492).
contract WalletFactory {
    function deploy(address owner) external returns (address) {
        return address(new KeyWallet{salt: 0}(owner));
    }
}

/// Takes everything.
contract GenerousWallet {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return 0x1626ba7e;
    }
}

/// Takes nothing.
contract StrictWallet {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return 0xffffffff;
    }
}

contract RevertingWallet {
    error NotToday(string reason);

    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        revert NotToday("closed");
    }
}

contract BurningWallet {
    uint256 public burnt;

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        uint256 round = burnt;
        while (true) round = uint256(keccak256(abi.encode(round)));
        return 0x1626ba7e;
    }
}

/// Answers a megabyte, with the right value nowhere in it.
contract BulkyWallet {
    fallback() external {
        assembly {
            return(0, 1048576)
        }
    }
}

/// Answers the right value without the zeros that must follow it.
contract SloppyWallet {
    fallback() external {
        assembly {
            mstore(0, 0x1626ba7e00000000000000000000000000000000000000000000000000000000)
            return(0, 4)
        }
    }
}

/// Changes the chain when it is asked, and takes everything.
contract WritingWallet {
    uint256 public asked;

    function isValidSignature(bytes32, bytes calldata) external returns (bytes4) {
        asked += 1;
        return 0x1626ba7e;
    }
}
