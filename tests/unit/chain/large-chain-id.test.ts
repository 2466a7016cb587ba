import { GraphQLInt } from "graphql";
import { expect, test } from "vitest";
import { toRpcEndpoint } from "../../../subgraphs/chain/network/rpc-endpoint.type.ts";
import { toExecution } from "../../../subgraphs/chain/node/node.type.ts";

test.each([
  [2 ** 31 - 1, 2 ** 31 - 1],
  [2 ** 31, null],
  [11_297_108_109, null],
  [2 ** 52, null],
])("the chain id %i of a wrong endpoint does not fail the fields that show it", (chainId, shown) => {
  const endpoint = toRpcEndpoint({ state: "wrong_chain", chainId, checkedAt: new Date() });
  const execution = toExecution({
    ...{ state: "answering", clientVersion: "Geth/v1", client: "geth", chainId, blockNumber: 1n },
    ...{ syncing: false, currentBlock: undefined, highestBlock: undefined, peers: undefined },
  });
  expect([endpoint.chainId, execution.chainId]).toEqual([shown, shown]);
  for (const value of [endpoint.chainId, execution.chainId])
    expect(value === null ? null : GraphQLInt.serialize(value)).toBe(shown);
});
