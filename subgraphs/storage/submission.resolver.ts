import "../shared/reflect.ts";
import { Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { File } from "../../src/storage/files.service.ts";
import type { Context } from "../shared/context.ts";
import { AccountStub } from "./account.stub.ts";
import { FileType } from "./file.type.ts";
import { type Submission, SubmissionType } from "./submission.type.ts";

/** What a submission leads to. */
@Resolver(() => SubmissionType)
export class SubmissionResolver {
  @FieldResolver(() => AccountStub, {
    description: "Whom it names as its sender. The network does not check that name.",
  })
  sender(@Root() { sender }: Submission): AccountStub {
    return { address: sender };
  }

  @FieldResolver(() => FileType, { nullable: true, description: "The file that was submitted." })
  file(@Root() { root }: Submission, @Ctx() { loaders }: Context): Promise<File | undefined> {
    return loaders.files.load(root);
  }
}
