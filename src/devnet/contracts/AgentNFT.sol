// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {Administered} from "./Administered.sol";
import {IERC7857DataVerifier, IntelligentData} from "./AgentProofs.sol";
import {AuthorizedUsers} from "./AuthorizedUsers.sol";
import {IntelligentToken} from "./IntelligentToken.sol";

/// The agent token under the signatures, events and errors of the public 0g-agent-nft, without its proxy. A token
/// begins at id 0; pausing stops minting and updating, not moving.
contract AgentNFT is Administered, Pausable, AuthorizedUsers {
    event CreatorSet(uint256 indexed tokenId, address indexed creator);
    event BaseURIUpdated(string oldBaseURI, string newBaseURI);
    event TokenURIUpdated(uint256 indexed tokenId, string newURI);
    event VerifierUpdated(address indexed oldVerifier, address indexed newVerifier);
    event MintFeeUpdated(uint256 oldFee, uint256 newFee);

    bytes32 public constant MINTER_ROLE = keccak256("MINTER_ROLE");
    string public constant VERSION = "1.0.0";

    string public storageInfo;
    uint256 public getMintFee;
    string private _base;
    mapping(uint256 tokenId => string) private _uris;
    mapping(uint256 tokenId => address) public creatorOf;

    constructor(
        string memory name_,
        string memory symbol_,
        string memory storageInfo_,
        IERC7857DataVerifier verifier_,
        address admin_
    ) Administered(admin_) IntelligentToken(name_, symbol_, verifier_) {
        _grantRole(MINTER_ROLE, admin_);
        storageInfo = storageInfo_;
    }

    function mint(IntelligentData[] calldata iDatas, address to) external payable whenNotPaused returns (uint256) {
        uint256 tokenId = _mintWithData(iDatas, to);
        _takeFee();
        return tokenId;
    }

    function mint(address to) external payable whenNotPaused returns (uint256) {
        uint256 tokenId = _mintPlain(to, "");
        _takeFee();
        return tokenId;
    }

    function mint(address to, string calldata uri) external payable whenNotPaused returns (uint256) {
        uint256 tokenId = _mintPlain(to, uri);
        _takeFee();
        return tokenId;
    }

    function mintWithRole(
        IntelligentData[] calldata iDatas,
        address to
    ) external onlyRole(MINTER_ROLE) returns (uint256) {
        return _mintWithData(iDatas, to);
    }

    function mintWithRole(address to) external onlyRole(MINTER_ROLE) returns (uint256) {
        return _mintPlain(to, "");
    }

    function mintWithRole(address to, string calldata uri) external onlyRole(MINTER_ROLE) returns (uint256) {
        return _mintPlain(to, uri);
    }

    function mintWithRole(
        IntelligentData[] calldata iDatas,
        address to,
        address creator
    ) external onlyRole(MINTER_ROLE) returns (uint256 tokenId) {
        tokenId = _mintWithData(iDatas, to);
        if (creator != address(0)) _setCreator(tokenId, creator);
    }

    function mintWithRole(
        address to,
        string calldata uri,
        address creator
    ) external onlyRole(MINTER_ROLE) returns (uint256 tokenId) {
        tokenId = _mintPlain(to, uri);
        if (creator != address(0)) _setCreator(tokenId, creator);
    }

    function update(uint256 tokenId, IntelligentData[] calldata newDatas) external whenNotPaused {
        require(_ownerOf(tokenId) == msg.sender, "Not owner");
        require(newDatas.length > 0, "Empty data array");
        _setData(tokenId, newDatas);
    }

    function setCreator(uint256 tokenId, address creator) external onlyRole(OPERATOR_ROLE) {
        require(_ownerOf(tokenId) != address(0), "Token does not exist");
        _setCreator(tokenId, creator);
    }

    function setMintFee(uint256 newMintFee) external onlyRole(OPERATOR_ROLE) {
        emit MintFeeUpdated(getMintFee, newMintFee);
        getMintFee = newMintFee;
    }

    function withdrawFees() external onlyRole(ADMIN_ROLE) {
        require(address(this).balance > 0, "No fees to withdraw");
        (bool sent, ) = admin.call{value: address(this).balance}("");
        require(sent, "Transfer failed");
    }

    function updateVerifier(address newVerifier) external onlyRole(OPERATOR_ROLE) {
        address oldVerifier = address(verifier);
        _setVerifier(IERC7857DataVerifier(newVerifier));
        emit VerifierUpdated(oldVerifier, newVerifier);
    }

    function grantMinterRole(address minter) external onlyRole(ADMIN_ROLE) {
        require(minter != address(0), "Invalid minter address");
        _grantRole(MINTER_ROLE, minter);
    }

    function revokeMinterRole(address minter) external onlyRole(ADMIN_ROLE) {
        _revokeRole(MINTER_ROLE, minter);
    }

    function setBaseURI(string calldata newBaseURI) external onlyRole(OPERATOR_ROLE) {
        emit BaseURIUpdated(_base, newBaseURI);
        _base = newBaseURI;
    }

    function setTokenURI(uint256 tokenId, string calldata newURI) external {
        require(_ownerOf(tokenId) == msg.sender, "Not owner");
        _uris[tokenId] = newURI;
        emit TokenURIUpdated(tokenId, newURI);
    }

    function pause() external onlyRole(OPERATOR_ROLE) {
        _pause();
    }

    function unpause() external onlyRole(OPERATOR_ROLE) {
        _unpause();
    }

    /// The token's own, else base and id, else the first description, which may be one.
    function tokenURI(uint256 tokenId) public view override returns (string memory) {
        _requireOwned(tokenId);
        if (bytes(_uris[tokenId]).length > 0) return _uris[tokenId];
        if (bytes(_base).length > 0) return string.concat(_base, Strings.toString(tokenId));
        return _firstDescription(tokenId);
    }

    function supportsInterface(
        bytes4 interfaceId
    ) public view override(AccessControl, IntelligentToken) returns (bool) {
        return super.supportsInterface(interfaceId);
    }

    function _mintWithData(IntelligentData[] calldata iDatas, address to) private returns (uint256 tokenId) {
        require(to != address(0), "Zero address");
        require(iDatas.length > 0, "Empty data array");
        tokenId = _mintNext(to);
        _setData(tokenId, iDatas);
    }

    function _mintPlain(address to, string memory uri) private returns (uint256 tokenId) {
        require(to != address(0), "Zero address");
        tokenId = _mintNext(to);
        if (bytes(uri).length > 0) _uris[tokenId] = uri;
    }

    function _setCreator(uint256 tokenId, address creator) private {
        creatorOf[tokenId] = creator;
        emit CreatorSet(tokenId, creator);
    }

    /// Keeps the fee and gives back what is beyond it.
    function _takeFee() private {
        require(msg.value >= getMintFee, "Insufficient mint fee");
        if (msg.value == getMintFee) return;
        (bool sent, ) = msg.sender.call{value: msg.value - getMintFee}("");
        require(sent, "Refund failed");
    }
}
