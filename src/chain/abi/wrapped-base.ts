import { parseAbi } from "viem";

/**
 * WrappedOGBase, the precompile by which the wrapped token is minted and burned within each minter's quota (SPEC 2.5
 * and 4.4). `mint` and `burn` are for the wrapped token's contract alone.
 */
export const wrappedBaseAbi = parseAbi([
  "struct Supply { uint256 cap; uint256 initialSupply; uint256 supply; }",
  "function getWA0GI() view returns (address)",
  "function minterSupply(address minter) view returns (Supply)",
  "function mint(address minter, uint256 amount)",
  "function burn(address minter, uint256 amount)",
]);
