import "../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Int, Query, Resolver, Root } from "type-graphql";
import { AppError } from "../../src/kernel/errors.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import type { KvEntry, KvRights, KvStream, KvTransaction } from "../../src/storage/kv/kv.service.ts";
import { MAX_U64 } from "../../src/storage/kv/stream-data.ts";
import type { SubmittedFile } from "../../src/storage/submissions.service.ts";
import type { Context } from "../shared/context.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar, Hash32Scalar, HexScalar } from "../shared/schema/scalars.ts";
import { AccountStub } from "./account.stub.ts";
import { FileType } from "./file.type.ts";
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
import { type Submission, SubmissionType } from "./submission.type.ts";

/** What is given of a value at once, bytes. */
const MAX_BYTES = 65_536;

/** Streams by their ids. */
@Resolver(() => KvStreamType)
export class KvStreamResolver {
  @Query(() => KvStreamType, {
    nullable: true,
    description: "A key-value stream. Null while nothing was written to it, or where it is not held.",
  })
  kvStream(
    @Arg("id", () => Hash32Scalar, { description: "Its id." }) id: Hex,
    @Ctx() { services }: Context,
  ): Promise<KvStream | undefined> {
    return services.kv.stream(id);
  }

  @Query(() => KvStreamConnection, {
    nullable: true,
    description: "The key-value streams that something was written to, by their ids.",
  })
  async kvStreams(
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<KvStream>> {
    const page = await services.kv.streams(toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @Query(() => KvEntryType, {
    nullable: true,
    description: "A key of a stream. Null when it was never written, or is deleted.",
  })
  kvValue(@Args(() => KvValueArgs) args: KvValueArgs, @Ctx() context: Context): Promise<KvEntry | undefined> {
    return findValue(args.streamId, args, context);
  }

  @Query(() => KvEntryConnection, {
    nullable: true,
    description: "The keys of a stream in the order of their bytes, without those that are deleted.",
  })
  kvEntries(
    @Arg("streamId", () => Hash32Scalar, { description: "The stream." }) streamId: Hex,
    @Args(() => KvEntriesArgs) args: KvEntriesArgs,
    @Ctx() context: Context,
  ): Promise<Connection<KvEntry>> {
    return listEntries(streamId, args, context);
  }

  @FieldResolver(() => KvEntryType, {
    nullable: true,
    description: "One of its keys. Null when it was never written, or is deleted.",
  })
  value(
    @Root() { streamId }: KvStream,
    @Args(() => KvKeyArgs) args: KvKeyArgs,
    @Ctx() context: Context,
  ): Promise<KvEntry | undefined> {
    return findValue(streamId, args, context);
  }

  @FieldResolver(() => KvEntryConnection, {
    description: "Its keys in the order of their bytes, without those that are deleted.",
  })
  entries(
    @Root() { streamId }: KvStream,
    @Args(() => KvEntriesArgs) args: KvEntriesArgs,
    @Ctx() context: Context,
  ): Promise<Connection<KvEntry>> {
    return listEntries(streamId, args, context);
  }

  @FieldResolver(() => KvRightsType, { description: "What an account may do with it." })
  rights(
    @Root() { streamId }: KvStream,
    @Arg("account", () => AddressScalar, { description: "The account." }) account: Hex,
    @Args(() => KvKeyArgs) { key, keyText, version }: KvKeyArgs,
    @Ctx() { services }: Context,
  ): Promise<KvRights> {
    const named = key == null && keyText == null ? undefined : readKey({ key, keyText });
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

  @FieldResolver(() => String, { nullable: true, description: "The key as text; null when it is none." })
  keyText(@Root() { key }: KvEntry): string | null {
    return toText(key);
  }

  @FieldResolver(() => BigIntScalar, { description: "How many bytes the value has." })
  size(@Root() { sizeBytes }: KvEntry): bigint {
    return BigInt(sizeBytes);
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: "The value as text; null when it is none, or longer than 65,536 bytes.",
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
      description: "From which byte on; the first without.",
    })
    start: string | null,
    @Arg("length", () => Int, { defaultValue: MAX_BYTES, description: "How many bytes, up to 65,536." })
    length: number,
    @Ctx() { services }: Context,
  ): Promise<string> {
    if (length < 0 || length > MAX_BYTES)
      throw new AppError("invalid_parameter", `At most ${MAX_BYTES} bytes are given at once.`, {
        param: "length",
      });
    const from = Number(BigInt(start ?? 0) > BigInt(entry.sizeBytes) ? entry.sizeBytes : (start ?? 0));
    return (await services.kv.read(entry, from, length)).toString("base64");
  }

  @FieldResolver(() => KvTransactionType, { nullable: true, description: "The transaction that wrote it." })
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
      "What became of a transaction on streams. Null while that is not decided, and for other submissions.",
  })
  kvTransaction(
    @Arg("txSeq", () => BigIntScalar, { description: "Its sequence number." }) txSeq: string,
    @Ctx() { loaders }: Context,
  ): Promise<KvTransaction | undefined> {
    return loaders.kvTransactions.load(BigInt(txSeq));
  }

  @FieldResolver(() => AccountStub, { description: "Who signed it." })
  sender(@Root() { sender }: KvTransaction): AccountStub {
    return { address: sender };
  }

  @FieldResolver(() => FileType, { nullable: true, description: "The file that it is in." })
  file(@Root() { root }: KvTransaction, @Ctx() { loaders }: Context): Promise<SubmittedFile | undefined> {
    return loaders.files.load(root);
  }
}

/** What a submission did to streams. */
@Resolver(() => SubmissionType)
export class KvSubmissionResolver {
  @FieldResolver(() => KvTransactionType, {
    nullable: true,
    description:
      "What it did to key-value streams; null for one that is none of them, or is not decided yet.",
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
  return toConnection(page, args, ({ cursor }) => cursor);
}

/** No version is above 2^64 - 1, so everything above means the latest. */
function readVersion(version: string | null | undefined): bigint | undefined {
  if (version == null) return undefined;
  return BigInt(version) > MAX_U64 ? MAX_U64 : BigInt(version);
}
