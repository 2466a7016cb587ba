// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Owned} from "./Owned.sol";

struct Service {
    address provider;
    string serviceType;
    string url;
    uint256 inputPrice;
    uint256 outputPrice;
    uint256 updatedAt;
    string model;
    string verifiability;
    string additionalInfo;
    address teeSignerAddress;
    bool teeSignerAcknowledged;
}

struct ServiceParams {
    string serviceType;
    string url;
    string model;
    string verifiability;
    uint256 inputPrice;
    uint256 outputPrice;
    string additionalInfo;
    address teeSignerAddress;
}

/// The half of InferenceServing that providers use: services, their stakes, and the owner's word on their signers.
abstract contract ProviderServices is Owned {
    event ProviderStakeReturned(address indexed provider, uint256 amount);
    event ProviderStaked(address indexed provider, uint256 amount);
    event ProviderTEESignerAcknowledged(
        address indexed provider,
        address indexed teeSignerAddress,
        bool acknowledged
    );
    event ServiceRemoved(address indexed service);
    event ServiceUpdated(
        address indexed service,
        string serviceType,
        string url,
        uint256 inputPrice,
        uint256 outputPrice,
        uint256 updatedAt,
        string model,
        string verifiability
    );

    error CannotAddStakeWhenUpdating();
    error InsufficientStake(uint256 provided, uint256 required);
    error LimitTooLarge(uint256 limit, uint256 max);
    error ServiceNotExist(address provider);
    error TransferFailed();

    uint256 public constant MIN_PROVIDER_STAKE = 100 ether;
    uint256 private constant MAX_PAGE = 50;

    mapping(address provider => Service) private _services;
    address[] private _serviceList;
    mapping(address provider => uint256) private _stakes;

    function addOrUpdateService(ServiceParams calldata params) external payable {
        Service storage service = _services[msg.sender];
        if (service.provider != address(0)) {
            if (msg.value != 0) revert CannotAddStakeWhenUpdating();
        } else {
            if (msg.value < MIN_PROVIDER_STAKE) revert InsufficientStake(msg.value, MIN_PROVIDER_STAKE);
            _stakes[msg.sender] = msg.value;
            _serviceList.push(msg.sender);
            emit ProviderStaked(msg.sender, msg.value);
        }
        // Another signer is another enclave: the owner must look at it afresh.
        if (service.teeSignerAddress != params.teeSignerAddress) service.teeSignerAcknowledged = false;
        service.provider = msg.sender;
        service.serviceType = params.serviceType;
        service.url = params.url;
        service.inputPrice = params.inputPrice;
        service.outputPrice = params.outputPrice;
        service.updatedAt = block.timestamp;
        service.model = params.model;
        service.verifiability = params.verifiability;
        service.additionalInfo = params.additionalInfo;
        service.teeSignerAddress = params.teeSignerAddress;
        emit ServiceUpdated(
            msg.sender,
            params.serviceType,
            params.url,
            params.inputPrice,
            params.outputPrice,
            block.timestamp,
            params.model,
            params.verifiability
        );
    }

    function removeService() external {
        _requireService(msg.sender);
        delete _services[msg.sender];
        _remove(_serviceList, msg.sender);
        uint256 stake = _stakes[msg.sender];
        _stakes[msg.sender] = 0;
        emit ProviderStakeReturned(msg.sender, stake);
        emit ServiceRemoved(msg.sender);
        _send(msg.sender, stake);
    }

    function acknowledgeTEESignerByOwner(address provider) external onlyOwner {
        _acknowledgeService(provider, true);
    }

    function revokeTEESignerAcknowledgement(address provider) external onlyOwner {
        _acknowledgeService(provider, false);
    }

    function serviceExists(address provider) external view returns (bool) {
        return _services[provider].provider != address(0);
    }

    function getService(address provider) external view returns (Service memory service) {
        _requireService(provider);
        return _services[provider];
    }

    function getAllServices(
        uint256 offset,
        uint256 limit
    ) external view returns (Service[] memory services, uint256 total) {
        total = _serviceList.length;
        services = new Service[](_pageLength(offset, limit, total));
        for (uint256 i = 0; i < services.length; i++) services[i] = _services[_serviceList[offset + i]];
    }

    function _acknowledgeService(address provider, bool acknowledged) private {
        _requireService(provider);
        _services[provider].teeSignerAcknowledged = acknowledged;
        emit ProviderTEESignerAcknowledged(provider, _services[provider].teeSignerAddress, acknowledged);
    }

    function _requireService(address provider) private view {
        if (_services[provider].provider == address(0)) revert ServiceNotExist(provider);
    }

    function _remove(address[] storage list, address item) private {
        for (uint256 i = 0; i < list.length; i++) {
            if (list[i] != item) continue;
            list[i] = list[list.length - 1];
            list.pop();
            return;
        }
    }

    function _send(address to, uint256 amount) internal {
        (bool sent, ) = to.call{value: amount}("");
        if (!sent) revert TransferFailed();
    }

    function _pageLength(uint256 offset, uint256 limit, uint256 total) internal pure returns (uint256) {
        if (limit > MAX_PAGE) revert LimitTooLarge(limit, MAX_PAGE);
        if (offset >= total) return 0;
        uint256 size = limit == 0 ? MAX_PAGE : limit;
        return total - offset < size ? total - offset : size;
    }
}
