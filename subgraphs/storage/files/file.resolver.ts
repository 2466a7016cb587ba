import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Int, Query, Resolver, Root } from "type-graphql";
import type { FileProgress } from "../../../src/events/topics.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { listOf } from "../../../src/kernel/page.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { readPath } from "../../../src/storage/folders/folder.ts";
import type { FileFilter, SubmittedFile } from "../../../src/storage/submissions/submissions.service.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Connection,
  PageArgs,
  pageOf,
  toPageRequest,
  toPlacedConnection,
} from "../../shared/schema/connection.ts";
import { BigIntScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";
import { FolderEntryConnection, FolderEntryType, toFolderEntry } from "../folders/folder.type.ts";
import { type Submission, SubmissionConnection } from "../submissions/submission.type.ts";
import { FileConnection, FileStatus, FileType, SegmentProofType, StorageLocationType } from "./file.type.ts";
import { FilesArgs, toFileFilter } from "./file-filter.type.ts";

/** Files and their fields. A field that is read from a storage node is null when no node answers. */
@Resolver(() => FileType)
export class FileResolver {
  @Query(() => FileType, {
    nullable: true,
    description: "A file by its root or by one of its submissions: give exactly one. Null if there is none.",
  })
  file(
    @Arg("root", () => Hash32Scalar, { nullable: true, description: "The file's merkle root." })
    root: Hex | null,
    @Arg("txSeq", () => BigIntScalar, {
      nullable: true,
      description: "The sequence number of one of the file's submissions.",
    })
    txSeq: string | null,
    @Ctx() { services, loaders }: Context,
  ): Promise<SubmittedFile | undefined> {
    if (root != null && txSeq == null) return loaders.files.load(root);
    if (txSeq != null && root == null) return services.files.byTxSeq(BigInt(txSeq));
    throw new AppError(
      "invalid_parameter",
      "Identify the file by its root or by a txSeq: give exactly one of the two.",
      { param: "root" },
    );
  }

  @Query(() => FileConnection, {
    nullable: true,
    description: "The files, or those that match a filter, ordered by their first submission, newest first.",
  })
  async files(
    @Args(() => FilesArgs) args: FilesArgs,
    @Ctx() context: Context,
  ): Promise<Connection<SubmittedFile>> {
    return listFiles(context, args, toFileFilter(args.filter));
  }

  @FieldResolver(() => BigIntScalar, {
    description: "The size in bytes, as stated by the file's first submission.",
  })
  sizeBytes(@Root() { sizeBytes }: SubmittedFile): bigint {
    return sizeBytes;
  }

  @FieldResolver(() => String, { description: "The download path on this service's origin." })
  url(@Root() { root }: SubmittedFile): string {
    return `/file?root=${root}`;
  }

  @FieldResolver(() => SubmissionConnection, {
    nullable: true,
    description: "The file's submissions, newest first.",
  })
  async submissions(
    @Root() { root }: SubmittedFile,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<Submission>> {
    const page = await services.submissions.list(toPageRequest(args), { root });
    return toPlacedConnection(page, () => services.submissions.count({ root }));
  }

  @FieldResolver(() => FileStatus, {
    nullable: true,
    description: "The file's status. Null if no storage node answers.",
  })
  async status(
    @Root() { root }: SubmittedFile,
    @Ctx() { loaders }: Context,
  ): Promise<FileProgress["status"] | null> {
    const file = await loaders.nodeFiles.load(root);
    if (!file) return null;
    if (file.pruned) return "pruned";
    return file.finalized ? "finalized" : "submitted";
  }

  @FieldResolver(() => Boolean, {
    nullable: true,
    description: "Whether the whole file is stored and can be downloaded. Null if no storage node answers.",
  })
  async finalized(@Root() { root }: SubmittedFile, @Ctx() { loaders }: Context): Promise<boolean | null> {
    return (await loaders.nodeFiles.load(root))?.finalized ?? null;
  }

  @FieldResolver(() => Boolean, {
    nullable: true,
    description: "Whether the file was stored and has been pruned. Null if no storage node answers.",
  })
  async pruned(@Root() { root }: SubmittedFile, @Ctx() { loaders }: Context): Promise<boolean | null> {
    return (await loaders.nodeFiles.load(root))?.pruned ?? null;
  }

  @FieldResolver(() => Int, {
    nullable: true,
    description: "The number of 256 KiB segments of the file. Null if no storage node answers.",
  })
  async segmentCount(@Root() { root }: SubmittedFile, @Ctx() { loaders }: Context): Promise<number | null> {
    return (await loaders.nodeFiles.load(root))?.segments ?? null;
  }

  @FieldResolver(() => Int, {
    nullable: true,
    description: "The number of stored segments. Null if no storage node answers.",
  })
  async uploadedSegmentCount(
    @Root() { root }: SubmittedFile,
    @Ctx() { loaders }: Context,
  ): Promise<number | null> {
    return (await loaders.nodeFiles.load(root))?.uploadedSegments ?? null;
  }

  @FieldResolver(() => [StorageLocationType], {
    nullable: true,
    description: "The nodes that store the file. Null if no storage node answers.",
  })
  async locations(
    @Root() { root }: SubmittedFile,
    @Ctx() { services, loaders }: Context,
  ): Promise<readonly StorageLocationType[] | null> {
    const file = await loaders.nodeFiles.load(root);
    if (!file) return null;
    const places = await services.files.locations(file);
    return places.map((place) => ({ ...place, latencyMs: Math.round(place.latencyMs) }));
  }

  @FieldResolver(() => SegmentProofType, { nullable: true, description: "The merkle proof of a segment." })
  proof(
    @Root() { root }: SubmittedFile,
    @Arg("segment", () => Int, { description: "0-based index of the segment." }) segment: number,
    @Ctx() { services }: Context,
  ): Promise<SegmentProofType> {
    return services.downloads.proofOf({ root }, segment);
  }

  @FieldResolver(() => FolderEntryType, {
    nullable: true,
    description: "The entry at a path, if the file is a folder.",
  })
  async entry(
    @Root() { root }: SubmittedFile,
    @Arg("path", () => String, { description: "The path, such as `/images/a.png`." }) path: string,
    @Ctx() { services }: Context,
  ): Promise<FolderEntryType> {
    const names = readPath(path);
    return toFolderEntry(root, names, await services.folders.find({ root }, names));
  }

  @FieldResolver(() => FolderEntryConnection, {
    nullable: true,
    description:
      "The entries of a directory of the folder, sorted by name. Fails with `folder_malformed` if the file is not a folder.",
  })
  async entries(
    @Root() { root }: SubmittedFile,
    @Arg("path", () => String, { defaultValue: "/", description: "The path of the directory." }) path: string,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<FolderEntryType>> {
    const names = readPath(path);
    const directory = await services.folders.directory({ root }, names);
    const entries = [...directory.entries.values()].toSorted((one, other) =>
      one.name < other.name ? -1 : 1,
    );
    const rows = entries.map((entry) => toFolderEntry(root, [...names, entry.name], entry));
    return pageOf(listOf("folder-entries", root, ...names), rows, args, ({ name }) => name);
  }
}

/** Files that match a filter, newest first. */
export async function listFiles(
  { services, loaders }: Context,
  args: PageArgs,
  filter: FileFilter,
): Promise<Connection<SubmittedFile>> {
  const page = await services.submissions.files(toPageRequest(args), filter);
  const found = await loaders.files.loadMany(page.rows.map(({ root }) => root));
  const files = page.rows.flatMap(({ cursor }, at) => {
    const file = found[at];
    if (file instanceof Error) throw file;
    return file ? [{ ...file, cursor }] : [];
  });
  return toPlacedConnection({ ...page, rows: files }, () => services.submissions.countFiles(filter));
}

/** The file of a root that another subgraph sent. */
export function findFile(
  { root }: { readonly root: unknown },
  { loaders }: Context,
): Promise<SubmittedFile | undefined> {
  return loaders.files.load(Hash32Scalar.parseValue(root));
}
