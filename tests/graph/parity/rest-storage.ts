import { type Counterpart, ENVELOPE, no, type Parity } from "./counterparts.ts";

const DOWNLOAD = no(
  "the bytes of a file: a result of the graph is held in memory as a whole, and a browser, a player or a resumed " +
    "download asks for ranges; `File.url` and `FolderEntry.url` are the paths",
);
const FILE: Readonly<Record<string, Counterpart>> = {
  "tx.data": no("always empty"),
  "tx.dataMerkleRoot": "File.root",
  "tx.seq": "Submission.txSeq",
  "tx.size": "File.sizeBytes",
  "tx.startEntryIndex": "Submission.startEntryIndex",
  "tx.streamIds": "Submission.tags",
  isCached: "FileStatus.UPLOADING",
  uploadedSegNum: "File.uploadedSegmentCount",
};

/** Members of each file of an answer. */
const DATA = Object.fromEntries(Object.entries(FILE).map(([name, found]) => [`data.${name}`, found]));

/** Files of the storage network. */
export const STORAGE: Readonly<Record<string, Parity>> = {
  "GET /file": DOWNLOAD,
  "GET /file/{root}": DOWNLOAD,
  "GET /file/{root}/{path}": DOWNLOAD,
  "GET /file/info/{cid}": { fields: ["Query.file"], types: ["File"], members: { ...DATA, ...ENVELOPE } },
  "GET /files/info": {
    fields: ["Query.file", "Query.nodes"],
    types: ["File"],
    members: { ...DATA, ...ENVELOPE, cid: "Query.nodes(ids)" },
  },
  "POST /file/segment": {
    fields: ["Mutation.uploadSegment"],
    types: ["UploadSegmentInput", "SegmentProofInput"],
    members: {
      ...ENVELOPE,
      expectedReplica: no("a wish to the network's own nodes; ignored by REST"),
    },
  },
  "GET /node/status": {
    fields: ["Query.storageStatus"],
    types: ["StorageStatus"],
    members: {
      ...ENVELOPE,
      "data.connectedPeers": no("always 0: this router is a client of the network's nodes"),
      "data.logSyncHeight": "StorageStatus.blockNumber",
      "data.logSyncBlock": "StorageStatus.blockHash",
      "data.networkIdentity.chainId": "Network.chainId",
      "data.networkIdentity.flowAddress": "Query.contract",
      "data.networkIdentity.p2pProtocolVersion.*": no("always 0: this router has no peers"),
    },
  },
  "POST /": no(
    "the JSON-RPC protocol of the storage network, for its SDKs; what it reads is in `file`, `kvStream` and " +
      "`storageStatus`, and what it writes in `uploadSegment` and `prepareKvWrite`",
  ),
};
