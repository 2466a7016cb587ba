import { lowerHex } from "../../../kernel/text/hex.ts";
import {
  addressAt,
  dataOf,
  type LogReaders,
  numberAt,
  readersOf,
  toIntelligentData,
  toSealedKeys,
} from "./agent-event.ts";

const DATAS = {
  type: "tuple[]",
  components: [
    { name: "dataDescription", type: "string" },
    { name: "dataHash", type: "bytes32" },
  ],
} as const;

/**
 * The logs of AgentNFT, the generation of SPEC 2.5 (facts: router-and-chain 3.1). A sealed key belongs to the piece of
 * data at the same index. Authorisations end with a transfer, but no log records that.
 */
export const agentNftReaders: LogReaders = readersOf({
  "Transfer(address,address,uint256)": (log) => [
    { kind: "transferred", from: addressAt(log, 1), to: addressAt(log, 2), tokenId: numberAt(log, 3) },
  ],
  "PublishedSealedKey(address,uint256,bytes[])": (log) => {
    const [keys] = dataOf(log, [{ type: "bytes[]" }]);
    return [
      {
        kind: "key-published",
        to: addressAt(log, 1),
        tokenId: numberAt(log, 2),
        ...toSealedKeys(keys.map((sealedKey) => ({ sealedKey }))),
      },
    ];
  },
  "Updated(uint256,(string,bytes32)[],(string,bytes32)[])": (log) => {
    const [, datas] = dataOf(log, [DATAS, DATAS]);
    return [{ kind: "data-set", tokenId: numberAt(log, 1), datas: datas.map(toIntelligentData) }];
  },
  "Authorization(address,address,uint256)": (log) => [
    { kind: "authorized", by: addressAt(log, 1), user: addressAt(log, 2), tokenId: numberAt(log, 3) },
  ],
  "AuthorizationRevoked(address,address,uint256)": (log) => [
    { kind: "revoked", user: addressAt(log, 2), tokenId: numberAt(log, 3) },
  ],
  "AuthorizedUsersCleared(address,uint256)": (log) => [{ kind: "cleared", tokenId: numberAt(log, 2) }],
  "DelegateAccess(address,address)": (log) => [
    { kind: "delegated", user: addressAt(log, 1), assistant: addressAt(log, 2) },
  ],
  "Cloned(uint256,uint256,address,address)": (log) => {
    const [from, to] = dataOf(log, [{ type: "address" }, { type: "address" }]);
    return [
      {
        kind: "cloned",
        tokenId: numberAt(log, 1),
        newTokenId: numberAt(log, 2),
        from: lowerHex(from),
        to: lowerHex(to),
      },
    ];
  },
  "CreatorSet(uint256,address)": (log) => [
    { kind: "creator-set", tokenId: numberAt(log, 1), creator: addressAt(log, 2) },
  ],
});
