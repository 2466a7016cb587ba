import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import {
  type AgentEvent,
  addressAt,
  dataOf,
  type LogReaders,
  numberAt,
  readersOf,
  toIntelligentData,
  toSealedKeys,
} from "./agent-event.ts";

const DATA_FIELDS = [
  { name: "dataDescription", type: "string" },
  { name: "dataHash", type: "bytes32" },
] as const;
const DATA = { type: "tuple", components: DATA_FIELDS } as const;
const DATAS = { type: "tuple[]", components: DATA_FIELDS } as const;
const ENTRIES = {
  type: "tuple[]",
  components: [
    { name: "dataHash", type: "bytes32" },
    { name: "sealedKey", type: "bytes" },
  ],
} as const;

/**
 * The logs of AgenticID, the successor (facts: router-and-chain 3.2). `ITransferred` follows the Transfer event of
 * mints, too, and a clone's keys are in `Cloned`. Keys in `Updated` and `EntryUpdated` are the owner's own.
 */
export const agenticIdReaders: LogReaders = readersOf({
  "Transfer(address,address,uint256)": (log) => [
    { kind: "transferred", from: addressAt(log, 1), to: addressAt(log, 2), tokenId: numberAt(log, 3) },
  ],
  "ITransferred(address,address,uint256,(bytes32,bytes)[])": (log) => {
    const [entries] = dataOf(log, [ENTRIES]);
    return published(addressAt(log, 2), numberAt(log, 3), entries);
  },
  "Cloned(uint256,uint256,address,address,(bytes32,bytes)[])": (log) => {
    const [from, to, entries] = dataOf(log, [{ type: "address" }, { type: "address" }, ENTRIES]);
    const newTokenId = numberAt(log, 2);
    return [
      {
        kind: "cloned",
        tokenId: numberAt(log, 1),
        newTokenId,
        from: lowerHex(from),
        to: lowerHex(to),
      },
      ...published(lowerHex(to), newTokenId, entries),
    ];
  },
  "Updated(uint256,(string,bytes32)[],(string,bytes32)[],bytes[])": (log) => {
    const [, datas] = dataOf(log, [DATAS, DATAS, { type: "bytes[]" }]);
    return [{ kind: "data-set", tokenId: numberAt(log, 1), datas: datas.map(toIntelligentData) }];
  },
  "EntryUpdated(uint256,uint256,(string,bytes32),(string,bytes32),bytes)": (log) => {
    const [index, , data] = entryUpdated(log);
    return [
      { kind: "datum-set", tokenId: numberAt(log, 1), index: Number(index), data: toIntelligentData(data) },
    ];
  },
  "AuthorizationGranted(address,address,uint256)": (log) => [
    { kind: "authorized", by: addressAt(log, 1), user: addressAt(log, 2), tokenId: numberAt(log, 3) },
  ],
  "AuthorizationRevoked(address,address,uint256)": (log) => [
    { kind: "revoked", user: addressAt(log, 2), tokenId: numberAt(log, 3) },
  ],
  "AuthorizationCleared(address,uint256)": (log) => [{ kind: "cleared", tokenId: numberAt(log, 2) }],
  "DelegateUpdated(address,address)": (log) => [
    { kind: "delegated", user: addressAt(log, 1), assistant: addressAt(log, 2) },
  ],
});

/** The keys of a transfer or a clone. Without entries it came without a key, whatever its event is called. */
function published(
  to: Hex,
  tokenId: bigint,
  entries: Parameters<typeof toSealedKeys>[0],
): readonly AgentEvent[] {
  return entries.length === 0 ? [] : [{ kind: "key-published", to, tokenId, ...toSealedKeys(entries) }];
}

/** The facts do not define whether `index` is an indexed argument: a log with a third topic carries it there. */
function entryUpdated(log: Parameters<typeof dataOf>[0]) {
  if (log.topics.length > 2) {
    const [old, data, key] = dataOf(log, [DATA, DATA, { type: "bytes" }]);
    return [numberAt(log, 2), old, data, key] as const;
  }
  return dataOf(log, [{ type: "uint256" }, DATA, DATA, { type: "bytes" }]);
}
