import "../shared/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import { AppError } from "../../src/kernel/errors.ts";
import type { Hex } from "../../src/kernel/hex.ts";
import type { File } from "../../src/storage/files.service.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../shared/connection.ts";
import type { Context } from "../shared/context.ts";
import { BigIntScalar, Hash32Scalar } from "../shared/scalars.ts";
import { FileType } from "./file.type.ts";
import { type Submission, SubmissionConnection } from "./submission.type.ts";

/** Files by what names them. */
@Resolver(() => FileType)
export class FileResolver {
  @Query(() => FileType, {
    nullable: true,
    description:
      "A file by its root, or by one of its submissions: exactly one of the two. Null if there is none.",
  })
  file(
    @Arg("root", () => Hash32Scalar, { nullable: true, description: "The file's merkle root." })
    root: Hex | null,
    @Arg("txSeq", () => BigIntScalar, {
      nullable: true,
      description: "The sequence number of a submission of it.",
    })
    txSeq: string | null,
    @Ctx() { services, loaders }: Context,
  ): Promise<File | undefined> {
    if (root != null && txSeq == null) return loaders.files.load(root);
    if (txSeq != null && root == null) return services.files.byTxSeq(BigInt(txSeq));
    throw new AppError(
      "invalid_parameter",
      "A file is named by its root or by a txSeq: exactly one of the two.",
    );
  }

  @FieldResolver()
  id(@Root() { root }: File): string {
    return root;
  }

  @FieldResolver(() => BigIntScalar, { description: "How many bytes it has, by its first submission." })
  size(@Root() { sizeBytes }: File): bigint {
    return sizeBytes;
  }

  @FieldResolver(() => String, { description: "Where this service gives it out, as a path from its origin." })
  url(@Root() { root }: File): string {
    return `/file?root=${root}`;
  }

  @FieldResolver(() => SubmissionConnection, { description: "Its submissions, newest first." })
  async submissions(
    @Root() { root }: File,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<Submission>> {
    const page = await services.files.submissionsOf(root, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }
}

/** The file behind a root that another subgraph sent. */
export function findFile(
  { root }: { readonly root: unknown },
  { loaders }: Context,
): Promise<File | undefined> {
  return loaders.files.load(Hash32Scalar.parseValue(root));
}
