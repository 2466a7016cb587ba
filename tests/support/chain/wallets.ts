import { readFileSync } from "node:fs";
import solc from "solc";
import { encodeDeployData, type Hex, parseAbi } from "viem";

export const walletFactoryAbi = parseAbi(["function deploy(address owner) returns (address)"]);
const constructorAbi = parseAbi(["constructor(address owner)"]);

type Output = {
  errors?: { severity: string; formattedMessage: string }[];
  contracts?: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>;
};

/** Compiles the wallets of `wallets.sol`. Returns the creation code of each by its name. */
export function compileWallets(): (name: string, owner?: Hex) => Hex {
  const content = readFileSync(new URL("wallets.sol", import.meta.url), "utf8");
  const outputSelection = { "*": { "*": ["evm.bytecode.object"] } };
  const settings = { evmVersion: "cancun", optimizer: { enabled: true, runs: 200 }, outputSelection };
  const input = { language: "Solidity", sources: { wallets: { content } }, settings };
  const output: Output = JSON.parse(
    solc.compile(JSON.stringify(input), { import: () => ({ contents: "" }) }),
  );
  const errors = output.errors?.filter(({ severity }) => severity === "error") ?? [];
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
  return (name, owner) => {
    const bytecode = output.contracts?.wallets?.[name]?.evm.bytecode.object;
    if (!bytecode) throw new Error(`there is no wallet ${name}`);
    const code: Hex = `0x${bytecode}`;
    return owner ? encodeDeployData({ abi: constructorAbi, bytecode: code, args: [owner] }) : code;
  };
}
