import "../../shared/schema/reflect.ts";
import { Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { SubmittedFile } from "../../../src/storage/submissions/submissions.service.ts";
import type { Context } from "../../shared/context.ts";
import { FileType } from "../files/file.type.ts";
import { FolderEntryType } from "./folder.type.ts";

/** The stored files of a folder entry. */
@Resolver(() => FolderEntryType)
export class FolderEntryResolver {
  @FieldResolver(() => [FileType], {
    nullable: "items",
    description:
      "The stored files that make up the entry, in order. An item is null if it is not submitted on chain.",
  })
  files(
    @Root() { roots }: FolderEntryType,
    @Ctx() { loaders }: Context,
  ): Promise<readonly (SubmittedFile | undefined)[]> {
    return Promise.all(roots.map((root) => loaders.files.load(root as Hex)));
  }
}
