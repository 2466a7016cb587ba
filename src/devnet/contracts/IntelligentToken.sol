// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {
    IERC7857DataVerifier,
    IntelligentData,
    TransferValidityProof,
    TransferValidityProofOutput
} from "./AgentProofs.sol";

interface IERC7857 {
    function iTransferFrom(
        address _from,
        address _to,
        uint256 _tokenId,
        TransferValidityProof[] calldata _proofs
    ) external;
    function delegateAccess(address _assistant) external;
    function getDelegateAccess(address _user) external view returns (address);
    function verifier() external view returns (IERC7857DataVerifier);
}

/// A token whose data is encrypted: it moves, and is cloned, with proofs that the receiver can decrypt it (ERC-7857).
abstract contract IntelligentToken is ERC721, IERC7857 {
    event Updated(uint256 indexed _tokenId, IntelligentData[] _oldDatas, IntelligentData[] _newDatas);
    event PublishedSealedKey(address indexed _to, uint256 indexed _tokenId, bytes[] _sealedKeys);
    event DelegateAccess(address indexed _user, address indexed _assistant);
    event Cloned(uint256 indexed _tokenId, uint256 indexed _newTokenId, address _from, address _to);

    error ERC7857EmptyProof();
    error ERC7857ProofCountMismatch();
    error ERC7857DataHashMismatch();
    error ERC7857AccessAssistantMismatch();
    error ERC7857WantedReceiverMismatch();
    error ERC7857TargetPubkeyMismatch();

    uint256 private constant PUBKEY_BYTES = 64;

    IERC7857DataVerifier public verifier;
    uint256 private _nextTokenId;
    mapping(uint256 tokenId => IntelligentData[]) private _datas;
    mapping(address user => address) private _assistants;

    constructor(string memory name_, string memory symbol_, IERC7857DataVerifier verifier_) ERC721(name_, symbol_) {
        require(address(verifier_) != address(0), "Zero address");
        verifier = verifier_;
    }

    function supportsInterface(bytes4 interfaceId) public view virtual override returns (bool) {
        return interfaceId == type(IERC7857).interfaceId || super.supportsInterface(interfaceId);
    }

    /// The zero address takes the delegation back.
    function delegateAccess(address _assistant) external {
        _assistants[msg.sender] = _assistant;
        emit DelegateAccess(msg.sender, _assistant);
    }

    function getDelegateAccess(address _user) external view returns (address) {
        return _assistants[_user];
    }

    function intelligentDatasOf(uint256 _tokenId) external view returns (IntelligentData[] memory) {
        _requireOwned(_tokenId);
        return _datas[_tokenId];
    }

    function iTransferFrom(
        address _from,
        address _to,
        uint256 _tokenId,
        TransferValidityProof[] calldata _proofs
    ) external {
        bytes[] memory sealedKeys = _checkProofs(_from, _to, _tokenId, _proofs);
        safeTransferFrom(_from, _to, _tokenId);
        emit PublishedSealedKey(_to, _tokenId, sealedKeys);
    }

    function iCloneFrom(
        address _from,
        address _to,
        uint256 _tokenId,
        TransferValidityProof[] calldata _proofs
    ) external returns (uint256 newTokenId) {
        if (_ownerOf(_tokenId) != _from) revert ERC721InvalidSender(_from);
        _checkAuthorized(_from, msg.sender, _tokenId);
        bytes[] memory sealedKeys = _checkProofs(_from, _to, _tokenId, _proofs);
        newTokenId = _mintNext(_to);
        _setData(newTokenId, _datas[_tokenId]);
        emit Cloned(_tokenId, newTokenId, _from, _to);
        emit PublishedSealedKey(_to, newTokenId, sealedKeys);
    }

    function _mintNext(address to) internal returns (uint256 tokenId) {
        tokenId = _nextTokenId++;
        _safeMint(to, tokenId);
    }

    function _setData(uint256 tokenId, IntelligentData[] memory newDatas) internal {
        emit Updated(tokenId, _datas[tokenId], newDatas);
        delete _datas[tokenId];
        for (uint256 i = 0; i < newDatas.length; i++) _datas[tokenId].push(newDatas[i]);
    }

    function _firstDescription(uint256 tokenId) internal view returns (string memory) {
        return _datas[tokenId].length == 0 ? "" : _datas[tokenId][0].dataDescription;
    }

    function _setVerifier(IERC7857DataVerifier newVerifier) internal {
        require(address(newVerifier) != address(0), "Zero address");
        verifier = newVerifier;
    }

    /// One proof for each of the token's data, in their order.
    function _checkProofs(
        address from,
        address to,
        uint256 tokenId,
        TransferValidityProof[] calldata proofs
    ) private returns (bytes[] memory sealedKeys) {
        if (to == address(0)) revert ERC721InvalidReceiver(to);
        if (_ownerOf(tokenId) != from) revert ERC721InvalidSender(from);
        if (proofs.length == 0) revert ERC7857EmptyProof();
        TransferValidityProofOutput[] memory outputs = verifier.verifyTransferValidity(proofs);
        IntelligentData[] storage datas = _datas[tokenId];
        if (outputs.length != datas.length) revert ERC7857ProofCountMismatch();
        sealedKeys = new bytes[](outputs.length);
        for (uint256 i = 0; i < outputs.length; i++) {
            if (outputs[i].dataHash != datas[i].dataHash) revert ERC7857DataHashMismatch();
            _checkReceiver(to, outputs[i]);
            sealedKeys[i] = outputs[i].sealedKey;
        }
    }

    /// The receiver, or its assistant, signed; and the key is sealed for whom the receiver wants, itself by default.
    function _checkReceiver(address to, TransferValidityProofOutput memory output) private view {
        if (output.accessAssistant != to && output.accessAssistant != _assistants[to])
            revert ERC7857AccessAssistantMismatch();
        if (output.wantedKey.length == 0) {
            require(output.targetPubkey.length == PUBKEY_BYTES, "Invalid public key length");
            if (address(uint160(uint256(keccak256(output.targetPubkey)))) != to)
                revert ERC7857WantedReceiverMismatch();
        } else if (keccak256(output.targetPubkey) != keccak256(output.wantedKey)) {
            revert ERC7857TargetPubkeyMismatch();
        }
    }
}
