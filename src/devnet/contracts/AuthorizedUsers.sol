// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {EnumerableSet} from "@openzeppelin/contracts/utils/structs/EnumerableSet.sol";
import {IntelligentToken} from "./IntelligentToken.sol";

/// Who may use a token beside its owner. A move of the token ends it for all of them, and no event tells so.
abstract contract AuthorizedUsers is IntelligentToken {
    using EnumerableSet for EnumerableSet.AddressSet;

    event Authorization(address indexed _from, address indexed _to, uint256 indexed _tokenId);
    event AuthorizationRevoked(address indexed _from, address indexed _to, uint256 indexed _tokenId);
    event AuthorizedUsersCleared(address indexed owner, uint256 indexed tokenId);

    error ERC7857InvalidAuthorizedUser(address _user);
    error ERC7857TooManyAuthorizedUsers();
    error ERC7857AlreadyAuthorized();
    error ERC7857NotAuthorized();

    uint256 public constant MAX_AUTHORIZED_USERS = 100;

    mapping(uint256 tokenId => EnumerableSet.AddressSet) private _users;

    function authorizedUsersOf(uint256 _tokenId) external view returns (address[] memory) {
        _requireOwned(_tokenId);
        return _users[_tokenId].values();
    }

    function authorizeUsage(uint256 _tokenId, address _user) external {
        if (_user == address(0)) revert ERC7857InvalidAuthorizedUser(_user);
        if (_ownerOf(_tokenId) != msg.sender) revert ERC721IncorrectOwner(msg.sender, _tokenId, _ownerOf(_tokenId));
        _authorize(_tokenId, _user);
    }

    function batchAuthorizeUsage(uint256 tokenId, address[] calldata users) external {
        require(users.length > 0, "Empty users array");
        require(_ownerOf(tokenId) == msg.sender, "Not owner");
        for (uint256 i = 0; i < users.length; i++) {
            require(users[i] != address(0), "Zero address in users");
            _authorize(tokenId, users[i]);
        }
    }

    function revokeAuthorization(uint256 _tokenId, address _user) external {
        if (_ownerOf(_tokenId) != msg.sender) revert ERC721InvalidSender(msg.sender);
        if (_user == address(0)) revert ERC7857InvalidAuthorizedUser(_user);
        if (!_users[_tokenId].remove(_user)) revert ERC7857NotAuthorized();
        emit AuthorizationRevoked(msg.sender, _user, _tokenId);
    }

    function clearAuthorizedUsers(uint256 tokenId) external {
        require(_ownerOf(tokenId) == msg.sender, "Not owner");
        _users[tokenId].clear();
        emit AuthorizedUsersCleared(msg.sender, tokenId);
    }

    function _update(address to, uint256 tokenId, address auth) internal virtual override returns (address from) {
        from = super._update(to, tokenId, auth);
        _users[tokenId].clear();
    }

    function _authorize(uint256 tokenId, address user) private {
        if (_users[tokenId].length() >= MAX_AUTHORIZED_USERS) revert ERC7857TooManyAuthorizedUsers();
        if (!_users[tokenId].add(user)) revert ERC7857AlreadyAuthorized();
        emit Authorization(msg.sender, user, tokenId);
    }
}
