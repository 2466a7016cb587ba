// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IMarket {
    function pricePerSector() external view returns (uint256);
}

struct SubmissionNode {
    bytes32 root;
    uint256 height;
}

struct SubmissionData {
    uint256 length;
    bytes tags;
    SubmissionNode[] nodes;
}

struct Submission {
    SubmissionData data;
    address submitter;
}

/// The storage log: checks, prices, places and announces a submission as the public network's Flow does, under both of
/// its `submit` ABIs. It keeps no Merkle tree, so it has no flow root and no epochs.
contract Flow {
    event Submit(
        address indexed sender,
        bytes32 indexed identity,
        uint256 submissionIndex,
        uint256 startPos,
        uint256 length,
        SubmissionData submission
    );

    error NotEnoughFee(uint256 price, uint256 sectors, uint256 paid);

    uint256 private constant SECTOR_BYTES = 256;
    uint256 private constant SEGMENT_SECTORS = 1024;
    uint256 private constant MAX_DEPTH = 4;
    uint256 private constant MAX_HEIGHT = 64;
    /// More than a submission takes wherever it is placed: a client that has its gas estimated, to the last unit, is
    /// not refused because another came in between. With it goes what each byte of the announcement takes.
    uint256 private constant GAS = 60_000;
    uint256 private constant GAS_PER_BYTE = 16;

    address public immutable market;
    uint256 public immutable firstBlock;
    uint256 public submissionIndex;
    /// Sector 0 is never given out: the flow starts at length 1.
    uint256 private _length = 1;

    constructor(address market_) {
        market = market_;
        firstBlock = block.number;
    }

    /// The current ABI, 0xbc8c11f8.
    function submit(
        Submission calldata submission
    ) external payable returns (uint256 index, bytes32 digest, uint256 startIndex, uint256 length) {
        (index, digest, startIndex, length) = _submit(submission.data, submission.submitter);
        _requireFee(length);
    }

    /// The ABI before 2026, 0xef3e12dc: whoever sends is the submitter.
    function submit(
        SubmissionData calldata data
    ) external payable returns (uint256 index, bytes32 digest, uint256 startIndex, uint256 length) {
        (index, digest, startIndex, length) = _submit(data, msg.sender);
        _requireFee(length);
    }

    function batchSubmit(
        Submission[] calldata submissions
    )
        external
        payable
        returns (
            uint256[] memory indexes,
            bytes32[] memory digests,
            uint256[] memory startIndexes,
            uint256[] memory lengths
        )
    {
        indexes = new uint256[](submissions.length);
        digests = new bytes32[](submissions.length);
        startIndexes = new uint256[](submissions.length);
        lengths = new uint256[](submissions.length);
        uint256 sectors;
        for (uint256 i = 0; i < submissions.length; i++) {
            (indexes[i], digests[i], startIndexes[i], lengths[i]) = _submit(
                submissions[i].data,
                submissions[i].submitter
            );
            sectors += lengths[i];
        }
        _requireFee(sectors);
    }

    function numSubmissions() external view returns (uint256) {
        return submissionIndex;
    }

    function paused() external pure returns (bool) {
        return false;
    }

    /// How many sectors are given out, and the height below which a tree would hold them.
    function tree() external view returns (uint256 currentLength, uint256 unstagedHeight) {
        currentLength = _length;
        while ((currentLength >> unstagedHeight) > 0) unstagedHeight++;
    }

    function _submit(
        SubmissionData calldata data,
        address submitter
    ) private returns (uint256 index, bytes32 digest, uint256 startIndex, uint256 length) {
        require(gasleft() >= GAS + GAS_PER_BYTE * msg.data.length, "Too little gas");
        require(submitter != address(0) && _isValid(data), "Invalid submission");
        index = submissionIndex++;
        digest = _digest(data.nodes);
        (startIndex, length) = _place(data.nodes);
        emit Submit(submitter, digest, index, startIndex, length, data);
    }

    function _requireFee(uint256 sectors) private view {
        uint256 price = IMarket(market).pricePerSector();
        if (msg.value < sectors * price) revert NotEnoughFee(price, sectors, msg.value);
    }

    /// The nodes must be the padded shape of the file: at most four levels, and no smaller shape would have held it.
    function _isValid(SubmissionData calldata data) private pure returns (bool) {
        SubmissionNode[] calldata nodes = data.nodes;
        if (nodes.length == 0) return false;
        uint256 first = nodes[0].height;
        if (first >= MAX_HEIGHT || first - _min(first, nodes[nodes.length - 1].height) >= MAX_DEPTH) return false;
        uint256 sectors = 1 << first;
        for (uint256 i = 1; i < nodes.length; i++) {
            if (nodes[i].height >= nodes[i - 1].height) return false;
            sectors += 1 << nodes[i].height;
        }
        uint256 smaller;
        if (sectors < 16) smaller = sectors - 1;
        else if (nodes.length == 1) smaller = sectors - sectors / 16;
        else smaller = sectors - (1 << (first - 3));
        return data.length <= sectors * SECTOR_BYTES && data.length > smaller * SECTOR_BYTES;
    }

    /// Each node goes to the next multiple of its own size; a file that would cross a segment border starts on one.
    function _place(SubmissionNode[] calldata nodes) private returns (uint256 startIndex, uint256 length) {
        for (uint256 i = 0; i < nodes.length; i++) length += 1 << nodes[i].height;
        uint256 current = _length;
        uint256 offset = _align(current, nodes[0].height) % SEGMENT_SECTORS;
        if (offset != 0 && offset + length > SEGMENT_SECTORS) current = _align(current, 10);
        for (uint256 i = 0; i < nodes.length; i++) {
            uint256 position = _align(current, nodes[i].height);
            if (i == 0) startIndex = position;
            current = position + (1 << nodes[i].height);
        }
        _length = current;
    }

    function _digest(SubmissionNode[] calldata nodes) private pure returns (bytes32) {
        bytes32[] memory roots = new bytes32[](nodes.length);
        for (uint256 i = 0; i < nodes.length; i++) roots[i] = nodes[i].root;
        return keccak256(abi.encodePacked(roots));
    }

    function _align(uint256 position, uint256 height) private pure returns (uint256) {
        uint256 size = 1 << height;
        return ((position + size - 1) / size) * size;
    }

    function _min(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }
}
