import type { AppContext, Lifecycle } from "../app-context.ts";
import type { ChainModule } from "../chain/module.ts";
import { addressOf } from "../chain/networks.ts";
import type { LogHandler } from "../chain/watcher/log-handler.ts";
import type { Queries } from "../db/database.ts";
import { DownloadsService } from "./downloads/downloads.service.ts";
import { FilesService } from "./files.service.ts";
import { FlowClient } from "./flow.client.ts";
import { FoldersService } from "./folders/folders.service.ts";
import { joinHandlers } from "./joined-handlers.ts";
import { createKvModule, type KvModule } from "./kv/module.ts";
import { createNodeModule, type NodeModule } from "./node/module.ts";
import { FollowedFiles } from "./progress/followed-files.runner.ts";
import { ProgressService } from "./progress/progress.service.ts";
import { type SubmissionListener, SubmissionsService } from "./submissions/submissions.service.ts";
import { SegmentsService } from "./uploads/segments.service.ts";
import { UploadsService } from "./uploads/uploads.service.ts";

/** The services of storage. */
export type StorageServices = {
  /** The submissions to the Flow contract, as the chain has them. */
  readonly submissions: SubmissionsService;
  readonly files: FilesService;
  readonly folders: FoldersService;
  readonly downloads: DownloadsService;
  readonly uploads: UploadsService;
  readonly progress: ProgressService;
  readonly segments: SegmentsService;
  readonly storageNode: NodeModule["node"];
  readonly fileReader: NodeModule["reader"];
  /** The state of the local storage node's disk; undefined with the nodes of the network. */
  readonly storageDisk: Pick<NonNullable<NodeModule["disk"]>, "writeFault"> | undefined;
} & Pick<KvModule, "kv" | "kvWrites">;

/** The services of storage and their background work. */
export type StorageModule = Lifecycle & { readonly services: StorageServices };

/** The name of the chain watcher of files. */
const WATCHER = "files";

/** Builds the services of storage. */
export function createStorageModule(
  parts: AppContext,
  { follow }: Pick<ChainModule, "follow">,
): StorageModule {
  const { config, network, rpc, clock, database, events, log, committed } = parts;
  const { chainId } = network;
  const flow = addressOf(network, "flow");
  const nodes: NodeModule = createNodeModule(parts, {
    url: () => config.PUBLIC_URL ?? `http://${config.HOST}:${config.PORT}`,
    progressed: (tx, files) => progress.record(tx, files),
  });
  const { node, reader, disk } = nodes;
  const progress = new ProgressService({
    ...{ database, events, chainId, log },
    followed: disk ? undefined : new FollowedFiles({ database, chainId, node, log, committed }),
  });
  const listener = listenFor(progress, disk);
  const submissions = new SubmissionsService({
    queries: database,
    chainId,
    flow,
    watcher: WATCHER,
    listener,
  });
  const files = new FilesService({ node, submissions });
  const folders = new FoldersService({ files, reader });
  const downloads = new DownloadsService({ files, node, reader });
  const uploads = new UploadsService({
    ...{ node, files, chainId, committed },
    flow: new FlowClient({ client: rpc.client, flow, clock }),
  });
  const segments = new SegmentsService({ files, node });
  const kvModule = createKvModule(parts, { node, reader, uploads, submissions, flow });
  const { kv, kvWrites } = kvModule;
  // The key-value handler reads the rows of reverted submissions, so it runs before they are deleted.
  const handlers: readonly LogHandler[] = [kvModule.handler, submissions];
  // A separate cursor, since a halt of the deposits must not stop the files.
  follow(WATCHER, joinHandlers(handlers));
  return {
    services: {
      ...{ submissions, files, folders, downloads, uploads, progress, segments, kv, kvWrites },
      ...{ storageNode: node, fileReader: reader, storageDisk: disk },
    },
    startWork() {
      nodes.startWork?.();
      progress.start();
      kvModule.startWork?.();
    },
    async stop() {
      await progress.stop();
      await kvModule.stop();
      await nodes.stop();
    },
  };
}

/** Passes submissions to the node and the file progress, in the transaction that inserts or deletes them. */
function listenFor(progress: ProgressService, disk: NodeModule["disk"]): SubmissionListener {
  return {
    async came(tx: Queries, came) {
      // Lock rows in the same order as an upload: the file, then its progress.
      const finalized = await disk?.submitted(tx, came);
      await progress.recordSubmitted(tx, came);
      if (finalized) await progress.record(tx, finalized);
    },
    async went(tx: Queries, went) {
      const roots = [...new Set(went.map(({ root }) => root))];
      await disk?.reverted(tx, roots);
      await progress.recordRemoved(tx, roots);
    },
  };
}
