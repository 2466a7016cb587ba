import { parseAbi } from "viem";

/**
 * AgenticID, the generation of the agent token that followed AgentNFT (facts: router-and-chain 3.2): what an indexer
 * needs of it. A sealed key comes with the hash of its data, in `ITransferred` (from the zero address at a mint) and
 * `Cloned`; a sender that replaces data publishes new keys with it. Plain transfers are refused.
 */
export const agenticIdAbi = parseAbi([
  "struct IntelligentData { string dataDescription; bytes32 dataHash; }",
  "struct SealedKeyEntry { bytes32 dataHash; bytes sealedKey; }",
  "event AgentSealSet(uint256 indexed agentId, address indexed agentSeal, bytes32 indexed sealId)",
  "event AuthorizationCleared(address indexed owner, uint256 indexed tokenId)",
  "event AuthorizationGranted(address indexed owner, address indexed user, uint256 indexed tokenId)",
  "event AuthorizationRevoked(address indexed owner, address indexed user, uint256 indexed tokenId)",
  "event Cloned(uint256 indexed tokenId, uint256 indexed newTokenId, address from, address to, SealedKeyEntry[] entries)",
  "event DelegateUpdated(address indexed user, address indexed delegate)",
  "event EntryUpdated(uint256 indexed tokenId, uint256 indexed index, IntelligentData oldData, IntelligentData newData, bytes sealedKey)",
  "event ITransferred(address indexed from, address indexed to, uint256 indexed tokenId, SealedKeyEntry[] entries)",
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
  "event Updated(uint256 indexed tokenId, IntelligentData[] oldDatas, IntelligentData[] newDatas, bytes[] sealedKeys)",
  "function getAccessDelegate(address user) view returns (address)",
  "function getAgentSeal(uint256 agentId) view returns (address)",
  "function intelligentDatasOf(uint256 tokenId) view returns (IntelligentData[])",
  "function ownerOf(uint256 tokenId) view returns (address)",
  "function setAccessDelegate(address delegate)",
  "function verifier() view returns (address)",
  "error ERC721NonexistentToken(uint256 tokenId)",
  "error ERC7857UseITransferFrom()",
]);
