import { parseAbi } from "viem";

/**
 * DASigners, the precompile of data availability's signers (SPEC 4.4; facts: router-and-chain 4). A point's coordinates
 * of the second group are pairs, of which the second is the imaginary part's factor: `X[1] * i + X[0]`.
 */
export const daSignersAbi = parseAbi([
  "struct G1Point { uint256 X; uint256 Y; }",
  "struct G2Point { uint256[2] X; uint256[2] Y; }",
  "struct SignerDetail { address signer; string socket; G1Point pkG1; G2Point pkG2; }",
  "struct Params { uint256 tokensPerVote; uint256 maxVotesPerSigner; uint256 maxQuorums; uint256 epochBlocks; uint256 encodedSlices; }",
  "event NewSigner(address indexed signer, G1Point pkG1, G2Point pkG2)",
  "event SocketUpdated(address indexed signer, string socket)",
  "function params() view returns (Params)",
  "function epochNumber() view returns (uint256)",
  "function quorumCount(uint256 _epoch) view returns (uint256)",
  "function isSigner(address _account) view returns (bool)",
  "function getSigner(address[] _account) view returns (SignerDetail[])",
  "function getQuorum(uint256 _epoch, uint256 _quorumId) view returns (address[])",
  "function getQuorumRow(uint256 _epoch, uint256 _quorumId, uint32 _rowIndex) view returns (address)",
  "function registeredEpoch(address _account, uint256 _epoch) view returns (bool)",
]);
