// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

struct G1Point {
    uint256 X;
    uint256 Y;
}

/// Elements of the extension field are X[1] * i + X[0].
struct G2Point {
    uint256[2] X;
    uint256[2] Y;
}

struct SignerDetail {
    address signer;
    string socket;
    G1Point pkG1;
    G2Point pkG2;
}

struct Params {
    uint256 tokensPerVote;
    uint256 maxVotesPerSigner;
    uint256 maxQuorums;
    uint256 epochBlocks;
    uint256 encodedSlices;
}

/// Stands in for the precompile 0x1000 on a chain that has none. Its content is whatever it is told, by anyone: nothing
/// is checked or drawn by lot as on the network.
contract DaSigners {
    event NewSigner(address indexed signer, G1Point pkG1, G2Point pkG2);
    event SocketUpdated(address indexed signer, string socket);

    Params private _params;
    uint256 public epochNumber;
    mapping(address account => SignerDetail) private _signers;
    mapping(uint256 epoch => address[][]) private _quorums;
    mapping(address account => mapping(uint256 epoch => bool)) public registeredEpoch;

    function setParams(Params calldata newParams) external {
        _params = newParams;
    }

    function setSigner(SignerDetail calldata detail) external {
        _signers[detail.signer] = detail;
        emit NewSigner(detail.signer, detail.pkG1, detail.pkG2);
        emit SocketUpdated(detail.signer, detail.socket);
    }

    /// Begins an epoch with these quorums; whoever is in one of them is registered for it.
    function setEpoch(uint256 epoch, address[][] calldata quorums) external {
        epochNumber = epoch;
        delete _quorums[epoch];
        for (uint256 i = 0; i < quorums.length; i++) {
            _quorums[epoch].push(quorums[i]);
            for (uint256 j = 0; j < quorums[i].length; j++) registeredEpoch[quorums[i][j]][epoch] = true;
        }
    }

    function registerNextEpoch(G1Point calldata) external {
        require(isSigner(msg.sender), "DASigners: signer not found");
        registeredEpoch[msg.sender][epochNumber + 1] = true;
    }

    function updateSocket(string calldata _socket) external {
        require(isSigner(msg.sender), "DASigners: signer not found");
        _signers[msg.sender].socket = _socket;
        emit SocketUpdated(msg.sender, _socket);
    }

    function params() external view returns (Params memory) {
        return _params;
    }

    function quorumCount(uint256 _epoch) external view returns (uint256) {
        return _quorums[_epoch].length;
    }

    function isSigner(address _account) public view returns (bool) {
        return _signers[_account].signer != address(0);
    }

    /// Throws for an account that is no signer, as the network does.
    function getSigner(address[] calldata _account) external view returns (SignerDetail[] memory details) {
        details = new SignerDetail[](_account.length);
        for (uint256 i = 0; i < _account.length; i++) {
            require(isSigner(_account[i]), "DASigners: signer not found");
            details[i] = _signers[_account[i]];
        }
    }

    function getQuorum(uint256 _epoch, uint256 _quorumId) public view returns (address[] memory) {
        require(_quorumId < _quorums[_epoch].length, "DASigners: quorum not found");
        return _quorums[_epoch][_quorumId];
    }

    function getQuorumRow(uint256 _epoch, uint256 _quorumId, uint32 _rowIndex) external view returns (address) {
        address[] memory quorum = getQuorum(_epoch, _quorumId);
        require(_rowIndex < quorum.length, "DASigners: row not found");
        return quorum[_rowIndex];
    }
}
