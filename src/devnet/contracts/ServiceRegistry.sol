// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Owned} from "./Owned.sol";

struct ServiceInfo {
    address serviceAddress;
    address serviceContract;
    string serviceType;
    string version;
    string fullName;
    string description;
    bool isRecommended;
    uint256 registeredAt;
}

/// The half of LedgerManager that knows the services: each has a full name, `<type>-<version>`, and one of each type is
/// recommended.
abstract contract ServiceRegistry is Owned {
    event RecommendedServiceUpdated(string serviceType, string version, address serviceAddress);
    event ServiceRegistered(address indexed serviceAddress, string serviceName);

    error InvalidServiceAddress(address serviceAddress);
    error NoRecommendedService(string serviceType);
    error ServiceNameExists(string serviceName);
    error ServiceNotFound(address serviceAddress);
    error ServiceTypeRequired();
    error VersionRequired();

    mapping(bytes32 nameHash => address) private _serviceByName;
    mapping(address service => ServiceInfo) private _services;
    address[] private _serviceList;
    mapping(bytes32 typeHash => address) private _recommended;

    function registerService(
        string memory serviceType,
        string memory version,
        address serviceAddress,
        string memory description
    ) external onlyOwner {
        if (bytes(serviceType).length == 0) revert ServiceTypeRequired();
        if (bytes(version).length == 0) revert VersionRequired();
        if (serviceAddress.code.length == 0) revert InvalidServiceAddress(serviceAddress);
        string memory fullName = string.concat(serviceType, "-", version);
        bytes32 nameHash = keccak256(bytes(fullName));
        if (_serviceByName[nameHash] != address(0)) revert ServiceNameExists(fullName);
        _serviceByName[nameHash] = serviceAddress;
        _serviceList.push(serviceAddress);
        ServiceInfo storage info = _services[serviceAddress];
        info.serviceAddress = serviceAddress;
        info.serviceContract = serviceAddress;
        info.serviceType = serviceType;
        info.version = version;
        info.fullName = fullName;
        info.description = description;
        info.registeredAt = block.timestamp;
        emit ServiceRegistered(serviceAddress, fullName);
    }

    function setRecommendedService(string memory serviceType, string memory version) external onlyOwner {
        address chosen = getServiceAddressByName(string.concat(serviceType, "-", version));
        bytes32 typeHash = keccak256(bytes(serviceType));
        _services[_recommended[typeHash]].isRecommended = false;
        _services[chosen].isRecommended = true;
        _recommended[typeHash] = chosen;
        emit RecommendedServiceUpdated(serviceType, version, chosen);
    }

    function getRecommendedService(
        string memory serviceType
    ) external view returns (string memory version, address serviceAddress) {
        serviceAddress = _recommended[keccak256(bytes(serviceType))];
        if (serviceAddress == address(0)) revert NoRecommendedService(serviceType);
        version = _services[serviceAddress].version;
    }

    function getServiceAddressByName(string memory serviceName) public view returns (address service) {
        service = _serviceByName[keccak256(bytes(serviceName))];
        if (service == address(0)) revert ServiceNotFound(service);
    }

    function getServiceInfo(address serviceAddress) external view returns (ServiceInfo memory) {
        if (_services[serviceAddress].serviceAddress == address(0)) revert ServiceNotFound(serviceAddress);
        return _services[serviceAddress];
    }

    function getAllActiveServices() external view returns (ServiceInfo[] memory services) {
        services = new ServiceInfo[](_serviceList.length);
        for (uint256 i = 0; i < services.length; i++) services[i] = _services[_serviceList[i]];
    }

    function _isService(address caller) internal view returns (bool) {
        return _services[caller].serviceAddress != address(0);
    }
}
