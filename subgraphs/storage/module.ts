import type { Context } from "../shared/context.ts";
import { EventCursorResolver } from "../shared/events/event-cursor.resolver.ts";
import { nodeOrKeyReference, nodeReference } from "../shared/nodes/find-node.ts";
import { buildSubgraph, type Subgraph } from "../shared/schema/build-subgraph.ts";
import { AccountResolver } from "./account.resolver.ts";
import { findAccount } from "./account.stub.ts";
import { FileResolver, findFile } from "./file.resolver.ts";
import { FileNodeResolvers } from "./file.type.ts";
import { FileProgressSubscription } from "./file-progress.subscription.ts";
import { FolderEntryResolver } from "./folder-entry.resolver.ts";
import {
  KvEntryResolver,
  KvStreamResolver,
  KvSubmissionResolver,
  KvTransactionResolver,
} from "./kv.resolver.ts";
import { KvStreamNodeResolvers, KvTransactionNodeResolvers } from "./kv.type.ts";
import { KvChangedSubscription } from "./kv-changed.subscription.ts";
import { KvWriteResolver } from "./kv-write.resolver.ts";
import { StorageStatusResolver } from "./storage-status.resolver.ts";
import { SubmissionResolver } from "./submission.resolver.ts";
import { SubmissionNodeResolvers } from "./submission.type.ts";
import { UploadResolver } from "./upload.resolver.ts";

/** The storage subgraph: files, their submissions, and key-value streams. */
export function build(): Subgraph {
  return buildSubgraph<Context>(
    "storage",
    [
      EventCursorResolver,
      FileResolver,
      FolderEntryResolver,
      SubmissionResolver,
      StorageStatusResolver,
      UploadResolver,
      FileProgressSubscription,
      KvStreamResolver,
      KvEntryResolver,
      KvTransactionResolver,
      KvSubmissionResolver,
      KvWriteResolver,
      KvChangedSubscription,
      AccountResolver,
      ...FileNodeResolvers,
      ...SubmissionNodeResolvers,
      ...KvStreamNodeResolvers,
      ...KvTransactionNodeResolvers,
    ],
    {
      references: {
        Account: findAccount,
        File: nodeOrKeyReference("File", findFile),
        Submission: nodeReference("Submission"),
        KvStream: nodeReference("KvStream"),
        KvTransaction: nodeReference("KvTransaction"),
      },
    },
  );
}
