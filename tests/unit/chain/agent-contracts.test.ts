import { expect, test } from "vitest";
import { parseAgentContract } from "../../../src/chain/agents/contracts/agent-contracts.ts";
import { readConfig } from "../../../src/config.ts";

const ADDRESS = "0x11111111111111111111111111111111111111Ab";
const OTHER = "0x22222222222222222222222222222222222222cD";
const address = ADDRESS.toLowerCase();

test("contracts of agent tokens are given as generation, address and first block", () => {
  expect(parseAgentContract(ADDRESS)).toEqual({ address, generation: "agent-nft", startBlock: undefined });
  expect(parseAgentContract(`agentic-id:${ADDRESS}@12`)).toEqual({
    address,
    generation: "agentic-id",
    startBlock: 12n,
  });
  const { AGENT_CONTRACTS } = readConfig({ AGENT_CONTRACTS: `${ADDRESS}, agent-nft:${OTHER}@7` });
  expect(AGENT_CONTRACTS).toMatchObject([{ startBlock: undefined }, { startBlock: 7n }]);
});

test.each([
  "agent:0x11",
  `erc-721:${ADDRESS}`,
  `${ADDRESS}@-1`,
  `${ADDRESS}@1e3`,
  `${ADDRESS}@`,
  ` ${ADDRESS}x`,
  Array.from({ length: 17 }, () => ADDRESS).join(","),
])("%s is refused, and the error shows a valid example", (text) => {
  expect(() => readConfig({ AGENT_CONTRACTS: text })).toThrow(/AGENT_CONTRACTS: must be .*for example/);
});

test("a contract that is given twice is refused: two readers of one contract would share its position", () => {
  const twice = `agent-nft:${ADDRESS}@7,agentic-id:${address}@9`;
  expect(() => readConfig({ AGENT_CONTRACTS: twice })).toThrow(
    /AGENT_CONTRACTS: must be different contracts, for example/,
  );
});
