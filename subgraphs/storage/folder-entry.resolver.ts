import "../shared/schema/reflect.ts";
import { Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { Hex } from "../../src/kernel/text/hex.ts";
import type { SubmittedFile } from "../../src/storage/submissions.service.ts";
import type { Context } from "../shared/context.ts";
import { FileType } from "./file.type.ts";
import { FolderEntryType } from "./folder.type.ts";

/** What an entry of a folder leads to. */
@Resolver(() => FolderEntryType)
export class FolderEntryResolver {
  @FieldResolver(() => [FileType], {
    nullable: "items",
    description: "The stored files that make up a file; null for one that the chain has not.",
  })
  files(
    @Root() { roots }: FolderEntryType,
    @Ctx() { loaders }: Context,
  ): Promise<readonly (SubmittedFile | undefined)[]> {
    return Promise.all(roots.map((root) => loaders.files.load(root as Hex)));
  }
}
