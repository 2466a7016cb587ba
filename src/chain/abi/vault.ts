import { parseAbi } from "viem";

/**
 * The deposit vault of our development network. The public network's vault ABI is not published (facts:
 * router-and-chain section 1.6), so there the event and the address are configuration.
 */
export const vaultAbi = parseAbi([
  "event Deposited(address indexed account, uint256 amount)",
  "function deposit() payable",
  "function depositFor(address account) payable",
  "function balanceOf(address account) view returns (uint256)",
  "error ZeroAmount()",
  "error ZeroAccount()",
]);
