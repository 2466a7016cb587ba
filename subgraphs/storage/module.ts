import type { Context } from "../shared/context.ts";
import { EventCursorResolver } from "../shared/events/event-cursor.resolver.ts";
import { nodeOrKeyReference, nodeReference } from "../shared/nodes/find-node.ts";
import { buildSubgraph, type Subgraph } from "../shared/schema/build-subgraph.ts";
import { AccountResolver } from "./account.resolver.ts";
import { findAccount } from "./account.stub.ts";
import { FileResolver, findFile } from "./files/file.resolver.ts";
import { FileNodeResolvers } from "./files/file.type.ts";
import { FileProgressSubscription } from "./files/file-progress.subscription.ts";
import { FolderEntryResolver } from "./folders/folder-entry.resolver.ts";
import {
  KvEntryResolver,
  KvStreamResolver,
  KvSubmissionResolver,
  KvTransactionResolver,
} from "./kv/kv.resolver.ts";
import { KvStreamNodeResolvers, KvTransactionNodeResolvers } from "./kv/kv.type.ts";
import { KvChangedSubscription } from "./kv/kv-changed.subscription.ts";
import { KvWriteResolver } from "./kv/kv-write.resolver.ts";
import { StorageStatusResolver } from "./storage-status.resolver.ts";
import { SubmissionResolver } from "./submissions/submission.resolver.ts";
import { SubmissionNodeResolvers } from "./submissions/submission.type.ts";
import { UploadResolver } from "./uploads/upload.resolver.ts";

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
