// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Owned} from "./Owned.sol";

struct Quota {
    uint256 cpuCount;
    uint256 nodeMemory;
    uint256 gpuCount;
    uint256 nodeStorage;
    string gpuType;
}

struct FineTuningService {
    address provider;
    string url;
    Quota quota;
    uint256 pricePerToken;
    bool occupied;
    string[] models;
    address teeSignerAddress;
    bool teeSignerAcknowledged;
}

/// The half of FineTuningServing that providers use: services, their stakes, and the owner's word on their signers.
abstract contract FineTuningServices is Owned {
    event ProviderStakeReturned(address indexed provider, uint256 amount);
    event ProviderStaked(address indexed provider, uint256 amount);
    event ProviderTEESignerAcknowledged(
        address indexed provider,
        address indexed teeSignerAddress,
        bool acknowledged
    );
    event ServiceRemoved(address indexed provider);
    event ServiceUpdated(
        address indexed provider,
        string url,
        Quota quota,
        uint256 pricePerToken,
        address teeSignerAddress,
        bool occupied
    );

    error CannotAddStakeWhenUpdating();
    error ETHTransferFailed();
    error InsufficientStake(uint256 provided, uint256 required);
    error ServiceNotExist(address provider);

    uint256 public constant MIN_PROVIDER_STAKE = 100 ether;

    mapping(address provider => FineTuningService) private _services;
    address[] private _serviceList;
    mapping(address provider => uint256) private _stakes;

    function addOrUpdateService(
        string calldata url,
        Quota calldata quota,
        uint256 pricePerToken,
        bool occupied,
        string[] calldata models,
        address teeSignerAddress
    ) external payable {
        _stake();
        FineTuningService storage service = _services[msg.sender];
        if (service.teeSignerAddress != teeSignerAddress) service.teeSignerAcknowledged = false;
        service.provider = msg.sender;
        service.url = url;
        service.quota = quota;
        service.pricePerToken = pricePerToken;
        service.occupied = occupied;
        delete service.models;
        for (uint256 i = 0; i < models.length; i++) service.models.push(models[i]);
        service.teeSignerAddress = teeSignerAddress;
        emit ServiceUpdated(msg.sender, url, quota, pricePerToken, teeSignerAddress, occupied);
    }

    function removeService() external {
        _service(msg.sender);
        delete _services[msg.sender];
        for (uint256 i = 0; i < _serviceList.length; i++) {
            if (_serviceList[i] != msg.sender) continue;
            _serviceList[i] = _serviceList[_serviceList.length - 1];
            _serviceList.pop();
            break;
        }
        uint256 stake = _stakes[msg.sender];
        _stakes[msg.sender] = 0;
        emit ProviderStakeReturned(msg.sender, stake);
        emit ServiceRemoved(msg.sender);
        _sendNative(msg.sender, stake);
    }

    function acknowledgeTEESignerByOwner(address provider) external onlyOwner {
        _acknowledgeService(provider, true);
    }

    function revokeTEESignerAcknowledgement(address provider) external onlyOwner {
        _acknowledgeService(provider, false);
    }

    function getService(address provider) external view returns (FineTuningService memory service) {
        return _service(provider);
    }

    function getAllServices() external view returns (FineTuningService[] memory services) {
        services = new FineTuningService[](_serviceList.length);
        for (uint256 i = 0; i < services.length; i++) services[i] = _services[_serviceList[i]];
    }

    function _service(address provider) internal view returns (FineTuningService storage service) {
        service = _services[provider];
        if (service.provider == address(0)) revert ServiceNotExist(provider);
    }

    function _sendNative(address to, uint256 amount) internal {
        (bool sent, ) = to.call{value: amount}("");
        if (!sent) revert ETHTransferFailed();
    }

    function _stake() private {
        if (_services[msg.sender].provider != address(0)) {
            if (msg.value != 0) revert CannotAddStakeWhenUpdating();
            return;
        }
        if (msg.value < MIN_PROVIDER_STAKE) revert InsufficientStake(msg.value, MIN_PROVIDER_STAKE);
        _stakes[msg.sender] = msg.value;
        _serviceList.push(msg.sender);
        emit ProviderStaked(msg.sender, msg.value);
    }

    function _acknowledgeService(address provider, bool acknowledged) private {
        FineTuningService storage service = _service(provider);
        service.teeSignerAcknowledged = acknowledged;
        emit ProviderTEESignerAcknowledged(provider, service.teeSignerAddress, acknowledged);
    }
}
