import type { AppContext, Lifecycle } from "../../app-context.ts";
import type { LogHandler } from "../../chain/watcher/log-handler.ts";
import { BusListener } from "../../events/bus-listener.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { ReaderKeys } from "../encryption/file-encryption.ts";
import type { FileReader } from "../node/file-reader.ts";
import type { StorageNode } from "../node/storage-node.ts";
import type { SubmissionsService } from "../submissions/submissions.service.ts";
import type { UploadsService } from "../uploads/uploads.service.ts";
import { KvService } from "./kv.service.ts";
import { KvFiles } from "./kv-files.ts";
import { kvRollback } from "./kv-rollback.ts";
import { KvWritesService } from "./kv-writes.service.ts";
import { RecentWrites } from "./recent-writes.ts";
import { ReplayRunner } from "./replay.runner.ts";
import { ReplayService } from "./replay.service.ts";

/** The services of key-value. `handler` handles the logs of Flow, before the handler that stores submissions. */
export type KvModule = Lifecycle & {
  readonly kv: KvService;
  readonly kvWrites: KvWritesService;
  readonly handler: LogHandler;
};

type Dependencies = {
  readonly node: Pick<StorageNode, "find">;
  readonly reader: Pick<FileReader, "read">;
  readonly uploads: Pick<UploadsService, "prepare" | "onFinalized">;
  readonly submissions: Pick<SubmissionsService, "nextTxSeq" | "listFrom">;
  readonly flow: Hex;
};

/** Builds the services of key-value. */
export function createKvModule(
  parts: AppContext,
  { node, reader, uploads, submissions, flow }: Dependencies,
): KvModule {
  const { config, network, database, bus, clock, log, committed } = parts;
  const { chainId } = network;
  const held = config.KV_STREAMS ?? (network.id === "devnet" ? "all" : []);
  const keys: ReaderKeys = {
    ...(config.KV_ENCRYPTION_KEY && { key: Buffer.from(config.KV_ENCRYPTION_KEY.slice(2), "hex") }),
    ...(config.KV_PRIVATE_KEY && { privateKey: Buffer.from(config.KV_PRIVATE_KEY.slice(2), "hex") }),
  };
  const files = new KvFiles({ node, reader });
  const replay = new ReplayService(
    { database, chainId, clock, log, committed },
    { held, keys, dataWaitMs: config.KV_DATA_WAIT_MS },
  );
  const runner = new ReplayRunner({ database, chainId, replay, files, log });
  const recent = new RecentWrites({ queries: database, chainId, clock });
  const kv = new KvService({ queries: database, chainId, recent, files, submissions }, { held, keys });
  const unlisten = uploads.onFinalized((file) => {
    runner.nudge(file.root);
    if (file.txSeq !== undefined) recent.add(file.txSeq);
  });
  // Receives files completed in another process. A missed event is covered by the next poll of the replay.
  const watch = new BusListener({
    bus,
    topic: "file.progressed",
    onEvent: ({ data }) => {
      if (data.status === "finalized") runner.nudge(data.root as Hex);
    },
    onLost: (error) =>
      log.warn(
        { err: error },
        "events about completed files are not received; polling for the files instead",
      ),
  });
  return {
    kv,
    kvWrites: new KvWritesService(uploads),
    handler: kvRollback({ chainId, flow }),
    startWork() {
      runner.start();
      watch.start();
    },
    async stop() {
      unlisten();
      await watch.stop();
      await runner.stop();
    },
  };
}
