import { parseAbi } from "viem";

/**
 * Flow, the storage network's log (facts: storage section 4). Both `submit` ABIs live side by side: 0xbc8c11f8 with a
 * submitter, and 0xef3e12dc of before 2026. In the event, `length` counts sectors of 256 bytes while
 * `submission.length` counts bytes, `submissionIndex` is the txSeq, and `sender` is whatever the caller named.
 */
export const flowAbi = parseAbi([
  "struct SubmissionNode { bytes32 root; uint256 height; }",
  "struct SubmissionData { uint256 length; bytes tags; SubmissionNode[] nodes; }",
  "struct Submission { SubmissionData data; address submitter; }",
  "event Submit(address indexed sender, bytes32 indexed identity, uint256 submissionIndex, uint256 startPos, uint256 length, SubmissionData submission)",
  "event NewEpoch(address indexed sender, uint256 indexed index, bytes32 startMerkleRoot, uint256 submissionIndex, uint256 flowLength, bytes32 context)",
  "function submit(Submission submission) payable returns (uint256 index, bytes32 digest, uint256 startIndex, uint256 length)",
  "function submit(SubmissionData submission) payable returns (uint256 index, bytes32 digest, uint256 startIndex, uint256 length)",
  "function batchSubmit(Submission[] submissions) payable returns (uint256[] indexes, bytes32[] digests, uint256[] startIndexes, uint256[] lengths)",
  "function market() view returns (address)",
  "function submissionIndex() view returns (uint256)",
  "function numSubmissions() view returns (uint256)",
  "function tree() view returns (uint256 currentLength, uint256 unstagedHeight)",
  "function firstBlock() view returns (uint256)",
  "function paused() view returns (bool)",
  "function getFlowRootByTxSeq(uint256 txSeq) view returns (bytes32)",
  "error NotEnoughFee(uint256 price, uint256 sectors, uint256 paid)",
]);

/** What Flow's `market()` answers: the price of storage, in neuron a sector of 256 bytes (facts: storage section 4). */
export const marketAbi = parseAbi(["function pricePerSector() view returns (uint256)"]);
