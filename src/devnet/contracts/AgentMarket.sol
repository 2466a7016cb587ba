// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {Administered} from "./Administered.sol";
import {IntelligentData, TransferValidityProof} from "./AgentProofs.sol";
import {MarketBalances} from "./MarketBalances.sol";

/// What a seller signs. A receiver that is not zero is the only one who may buy.
struct Order {
    uint256 tokenId;
    uint256 expectedPrice;
    address currency;
    uint256 expireTime;
    bytes32 nonce;
    bytes signature;
    address receiver;
}

/// What a buyer signs. It names no currency: the price is meant in whatever the order names.
struct Offer {
    uint256 tokenId;
    uint256 offerPrice;
    uint256 expireTime;
    bytes32 nonce;
    bool needProof;
    bytes signature;
}

interface IAgentNFT {
    function ownerOf(uint256 tokenId) external view returns (address);
    function creatorOf(uint256 tokenId) external view returns (address);
    function safeTransferFrom(address from, address to, uint256 tokenId) external;
    function iTransferFrom(
        address from,
        address to,
        uint256 tokenId,
        TransferValidityProof[] calldata proofs
    ) external;
    function mintWithRole(IntelligentData[] calldata iDatas, address to) external returns (uint256);
    function mintWithRole(IntelligentData[] calldata iDatas, address to, address creator) external returns (uint256);
    function mintWithRole(address to, string calldata uri, address creator) external returns (uint256);
}

/// Brings an order and an offer together, under the signatures, hashes and texts of errors of the public AgentMarket.
/// As there, nothing that was signed can be cancelled, and nonces are everybody's: whoever's order uses one first has it.
contract AgentMarket is EIP712, MarketBalances {
    event OrderFulfilled(
        address indexed seller,
        address indexed buyer,
        uint256 tokenId,
        uint256 price,
        address currency
    );
    event AgentNFTUpdated(address oldAgentNFT, address newAgentNFT);
    event MintFeeUpdated(uint256 mintFee);
    event DiscountMintFeeUpdated(uint256 discountMintFee);
    event PaidMinted(uint256 indexed tokenId, address indexed from, address indexed to, uint256 mintFee);

    bytes32 public constant MINTER_ROLE = keccak256("MINTER_ROLE");
    string public constant VERSION = "1.0.0";
    // Chain and contract are in the domain already; the public contract has them in the structs as well.
    bytes32 private constant ORDER_TYPEHASH =
        keccak256(
            "Order(uint256 tokenId,uint256 expectedPrice,address currency,uint256 expireTime,bytes32 nonce,address receiver,uint256 chainId,address verifyingContract)"
        );
    bytes32 private constant OFFER_TYPEHASH =
        keccak256(
            "Offer(uint256 tokenId,uint256 offeredPrice,uint256 expireTime,bool needProof,bytes32 nonce,uint256 chainId,address verifyingContract)"
        );

    /// The public contract has no getter for it; ours is called otherwise than any of its functions.
    IAgentNFT public tradedToken;
    uint256 public getMintFee;
    uint256 public getDiscountMintFee;
    mapping(bytes32 nonce => bool) private _usedOrders;
    mapping(bytes32 nonce => bool) private _usedOffers;

    constructor(
        IAgentNFT agentNFT,
        uint256 feeRate,
        address admin_,
        uint256 mintFee,
        uint256 discountMintFee
    ) EIP712("AgentMarket", VERSION) Administered(admin_) MarketBalances(feeRate) {
        require(address(agentNFT) != address(0), "Invalid AgentNFT address");
        _grantRole(MINTER_ROLE, admin_);
        tradedToken = agentNFT;
        getMintFee = mintFee;
        getDiscountMintFee = discountMintFee;
    }

    function fulfillOrder(
        Order calldata order,
        Offer calldata offer,
        TransferValidityProof[] calldata proofs
    ) external payable nonReentrant whenNotPaused {
        address seller = _sellerOf(order);
        address buyer = _buyerOf(offer, order);
        _usedOrders[order.nonce] = true;
        _usedOffers[offer.nonce] = true;
        address creator = tradedToken.creatorOf(order.tokenId);
        if (offer.needProof) tradedToken.iTransferFrom(seller, buyer, order.tokenId, proofs);
        else tradedToken.safeTransferFrom(seller, buyer, order.tokenId);
        if (offer.offerPrice > 0) _pay(buyer, seller, order.currency, offer.offerPrice, creator);
        emit OrderFulfilled(seller, buyer, order.tokenId, offer.offerPrice, order.currency);
    }

    function paidMint(
        IntelligentData[] calldata iDatas,
        address to,
        bool isDiscount
    ) external whenOpen onlyRole(MINTER_ROLE) {
        uint256 fee = _takeMintFee(to, isDiscount);
        emit PaidMinted(tradedToken.mintWithRole(iDatas, to), msg.sender, to, fee);
    }

    function paidMint(
        address to,
        string calldata uri,
        address creator,
        bool isDiscount
    ) external whenOpen onlyRole(MINTER_ROLE) {
        uint256 fee = _takeMintFee(to, isDiscount);
        emit PaidMinted(tradedToken.mintWithRole(to, uri, creator), creator, to, fee);
    }

    function mint(
        IntelligentData[] calldata iDatas,
        address to,
        address creator,
        bool isDiscount
    ) external whenOpen onlyRole(MINTER_ROLE) {
        uint256 fee = _takeMintFee(to, isDiscount);
        emit PaidMinted(tradedToken.mintWithRole(iDatas, to, creator), creator, to, fee);
    }

    function setAgentNFT(address newAgentNFT) external onlyRole(ADMIN_ROLE) {
        require(newAgentNFT != address(0), "Invalid AgentNFT address");
        emit AgentNFTUpdated(address(tradedToken), newAgentNFT);
        tradedToken = IAgentNFT(newAgentNFT);
    }

    function setMintFee(uint256 newMintFee) external onlyRole(OPERATOR_ROLE) {
        getMintFee = newMintFee;
        emit MintFeeUpdated(newMintFee);
    }

    function setDiscountMintFee(uint256 newDiscountMintFee) external onlyRole(OPERATOR_ROLE) {
        getDiscountMintFee = newDiscountMintFee;
        emit DiscountMintFeeUpdated(newDiscountMintFee);
    }

    function _takeMintFee(address to, bool isDiscount) private returns (uint256 fee) {
        require(to != address(0), "Invalid recipient");
        fee = isDiscount ? getDiscountMintFee : getMintFee;
        _takeBalance(to, fee, "Insufficient balance for mint fee");
        getFeeBalance[NATIVE] += fee;
    }

    function _sellerOf(Order calldata order) private view returns (address seller) {
        require(block.timestamp <= order.expireTime, "Order expired");
        bytes32 structHash = keccak256(
            abi.encode(
                ORDER_TYPEHASH,
                order.tokenId,
                order.expectedPrice,
                order.currency,
                order.expireTime,
                order.nonce,
                order.receiver,
                block.chainid,
                address(this)
            )
        );
        seller = ECDSA.recover(_hashTypedDataV4(structHash), order.signature);
        require(!_usedOrders[order.nonce], "Order already used");
        require(tradedToken.ownerOf(order.tokenId) == seller, "NFT owner mismatch");
    }

    function _buyerOf(Offer calldata offer, Order calldata order) private view returns (address buyer) {
        require(block.timestamp <= offer.expireTime, "Offer expired");
        require(offer.offerPrice >= order.expectedPrice, "Price too low");
        require(offer.tokenId == order.tokenId, "TokenId mismatch");
        bytes32 structHash = keccak256(
            abi.encode(
                OFFER_TYPEHASH,
                offer.tokenId,
                offer.offerPrice,
                offer.expireTime,
                offer.needProof,
                offer.nonce,
                block.chainid,
                address(this)
            )
        );
        buyer = ECDSA.recover(_hashTypedDataV4(structHash), offer.signature);
        require(!_usedOffers[offer.nonce], "Offer already used");
        if (order.receiver != address(0)) require(buyer == order.receiver, "Receiver mismatch");
    }
}
