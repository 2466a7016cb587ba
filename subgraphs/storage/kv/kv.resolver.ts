import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Int, Query, Resolver, Root } from "type-graphql";
import { AppError } from "../../../src/kernel/errors.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { KvEntry, KvRights, KvStream, KvTransaction } from "../../../src/storage/kv/kv.service.ts";
import { MAX_U64 } from "../../../src/storage/kv/stream-data.ts";
import type { SubmittedFile } from "../../../src/storage/submissions/submissions.service.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Connection,
  PageArgs,
  toPageRequest,
  toPlacedConnection,
} from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar, Hash32Scalar, HexScalar } from "../../shared/schema/scalars.ts";
import { AccountStub } from "../account.stub.ts";
import { FileType } from "../files/file.type.ts";
import { type Submission, SubmissionType } from "../submissions/submission.type.ts";
import {
  KvEntriesArgs,
  KvEntryConnection,
  KvEntryType,
  KvKeyArgs,
  KvRightsType,
  KvStreamConnection,
  KvStreamType,
  KvTransactionType,
  KvValueArgs,
} from "./kv.type.ts";
import { readKey, readPrefix, toHex, toText } from "./kv-key.ts";

/** The maximum part of a value per response, in bytes. */
const MAX_BYTES = 65_536;

/** Streams by their ids. */
@Resolver(() => KvStreamType)
export class KvStreamResolver {
  @Query(() => KvStreamType, {
    nullable: true,
    description:
      "A key-value stream. Null if nothing was written to it, or if this service does not hold it.",
  })
  kvStream(
    @Arg("streamId", () => Hash32Scalar, { description: "The id of the stream." }) streamId: Hex,
    @Ctx() { services }: Context,
  ): Promise<KvStream | undefined> {
    return services.kv.stream(streamId);
  }

  @Query(() => KvStreamConnection, {
    nullable: true,
    description: "The key-value streams that were written to, ordered by id.",
  })
  async kvStreams(
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<KvStream>> {
    const page = await services.kv.streams(toPageRequest(args));
    return toPlacedConnection(page);
  }

  @Query(() => KvEntryType, {
    nullable: true,
    description: "A key of a stream with its value. Null if the key was never written or is deleted.",
  })
  kvValue(@Args(() => KvValueArgs) args: KvValueArgs, @Ctx() context: Context): Promise<KvEntry | undefined> {
    return findValue(args.streamId, args, context);
  }

  @Query(() => KvEntryConnection, {
    nullable: true,
    description: "The keys of a stream in byte order, without deleted keys.",
  })
  kvEntries(
    @Arg("streamId", () => Hash32Scalar, { description: "The id of the stream." }) streamId: Hex,
    @Args(() => KvEntriesArgs) args: KvEntriesArgs,
    @Ctx() context: Context,
  ): Promise<Connection<KvEntry>> {
    return listEntries(streamId, args, context);
  }

  @FieldResolver(() => KvEntryType, {
    nullable: true,
    description: "A key of the stream with its value. Null if the key was never written or is deleted.",
  })
  value(
    @Root() { streamId }: KvStream,
    @Args(() => KvKeyArgs) args: KvKeyArgs,
    @Ctx() context: Context,
  ): Promise<KvEntry | undefined> {
    return findValue(streamId, args, context);
  }

  @FieldResolver(() => KvEntryConnection, {
    nullable: true,
    description: "The keys of the stream in byte order, without deleted keys.",
  })
  entries(
    @Root() { streamId }: KvStream,
    @Args(() => KvEntriesArgs) args: KvEntriesArgs,
    @Ctx() context: Context,
  ): Promise<Connection<KvEntry>> {
    return listEntries(streamId, args, context);
  }

  @FieldResolver(() => KvRightsType, {
    nullable: true,
    description: "An account's permissions on the stream, and on a key if one is given.",
  })
  rights(
    @Root() { streamId }: KvStream,
    @Arg("account", () => AddressScalar, { description: "The account." }) account: Hex,
    @Args(() => KvKeyArgs) { key, keyText, version }: KvKeyArgs,
    @Ctx() { services }: Context,
  ): Promise<KvRights> {
    const named = key == null && keyText == null ? undefined : readKey({ key, keyText });
    // No key is empty: it would be taken for none.
    if (named?.length === 0)
      throw new AppError("invalid_parameter", "key is empty", { param: key == null ? "keyText" : "key" });
    return services.kv.rights(account, { streamId, key: named }, readVersion(version));
  }
}

/** A key and its value. */
@Resolver(() => KvEntryType)
export class KvEntryResolver {
  @FieldResolver(() => HexScalar, { description: "The key's bytes." })
  key(@Root() { key }: KvEntry): Hex {
    return toHex(key);
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: "The key as text. Null if it is not valid UTF-8.",
  })
  keyText(@Root() { key }: KvEntry): string | null {
    return toText(key);
  }

  @FieldResolver(() => BigIntScalar, { description: "The size of the value in bytes." })
  sizeBytes(@Root() { sizeBytes }: KvEntry): bigint {
    return BigInt(sizeBytes);
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: "The value as text. Null if it is not valid UTF-8 or longer than 65,536 bytes.",
  })
  async text(@Root() entry: KvEntry, @Ctx() { services }: Context): Promise<string | null> {
    if (entry.sizeBytes > MAX_BYTES) return null;
    return toText(await services.kv.read(entry, 0, entry.sizeBytes));
  }

  @FieldResolver(() => String, { nullable: true, description: "A part of the value in base64." })
  async base64(
    @Root() entry: KvEntry,
    @Arg("start", () => BigIntScalar, {
      nullable: true,
      description: "Offset of the first byte. Default: 0.",
    })
    start: string | null,
    @Arg("length", () => Int, { defaultValue: MAX_BYTES, description: "The number of bytes, up to 65,536." })
    length: number,
    @Ctx() { services }: Context,
  ): Promise<string> {
    if (length < 0 || length > MAX_BYTES)
      throw new AppError("invalid_parameter", `At most ${MAX_BYTES} bytes can be read at once.`, {
        param: "length",
      });
    const from = Number(BigInt(start ?? 0) > BigInt(entry.sizeBytes) ? entry.sizeBytes : (start ?? 0));
    return (await services.kv.read(entry, from, length)).toString("base64");
  }

  @FieldResolver(() => KvTransactionType, {
    nullable: true,
    description: "The transaction that wrote this version. Null if a reorg removed it.",
  })
  transaction(@Root() { version }: KvEntry, @Ctx() { loaders }: Context): Promise<KvTransaction | undefined> {
    return loaders.kvTransactions.load(version);
  }
}

/** Transactions by their sequence numbers. */
@Resolver(() => KvTransactionType)
export class KvTransactionResolver {
  @Query(() => KvTransactionType, {
    nullable: true,
    description:
      "The outcome of a transaction on key-value streams. Null while it is undecided, and for other submissions.",
  })
  kvTransaction(
    @Arg("txSeq", () => BigIntScalar, { description: "The transaction's sequence number." }) txSeq: string,
    @Ctx() { loaders }: Context,
  ): Promise<KvTransaction | undefined> {
    return loaders.kvTransactions.load(BigInt(txSeq));
  }

  @FieldResolver(() => AccountStub, { description: "The account that signed the transaction." })
  sender(@Root() { sender }: KvTransaction): AccountStub {
    return { address: sender };
  }

  @FieldResolver(() => FileType, {
    nullable: true,
    description: "The file that contains the transaction. Null if a reorg removed it.",
  })
  file(@Root() { root }: KvTransaction, @Ctx() { loaders }: Context): Promise<SubmittedFile | undefined> {
    return loaders.files.load(root);
  }
}

/** The effect of a submission on streams. */
@Resolver(() => SubmissionType)
export class KvSubmissionResolver {
  @FieldResolver(() => KvTransactionType, {
    nullable: true,
    description:
      "The submission's outcome as a key-value transaction. Null while it is undecided, and for other submissions.",
  })
  kvTransaction(
    @Root() { txSeq }: Submission,
    @Ctx() { loaders }: Context,
  ): Promise<KvTransaction | undefined> {
    return loaders.kvTransactions.load(txSeq);
  }
}

async function findValue(
  streamId: Hex,
  { key, keyText, version }: KvKeyArgs,
  { services }: Context,
): Promise<KvEntry | undefined> {
  const entry = await services.kv.entry(streamId, readKey({ key, keyText }), readVersion(version));
  return entry && entry.sizeBytes > 0 ? entry : undefined;
}

async function listEntries(
  streamId: Hex,
  args: KvEntriesArgs,
  { services }: Context,
): Promise<Connection<KvEntry>> {
  const prefix = readPrefix(args.prefix, args.prefixText);
  const direction = args.reverse ? "down" : "up";
  const where = { streamId, prefix, direction, version: readVersion(args.version) ?? MAX_U64 } as const;
  const page = await services.kv.entries(where, toPageRequest(args));
  return toPlacedConnection(page);
}

/** No version is above 2^64 - 1, so any greater number means the latest. */
function readVersion(version: string | null | undefined): bigint | undefined {
  if (version == null) return undefined;
  return BigInt(version) > MAX_U64 ? MAX_U64 : BigInt(version);
}
