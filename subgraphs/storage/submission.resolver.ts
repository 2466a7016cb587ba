import "../shared/schema/reflect.ts";
import { Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { SubmittedFile } from "../../src/storage/submissions.service.ts";
import type { Context } from "../shared/context.ts";
import { AccountStub } from "./account.stub.ts";
import { FileType } from "./file.type.ts";
import { type Submission, SubmissionType } from "./submission.type.ts";

/** What a submission leads to. */
@Resolver(() => SubmissionType)
export class SubmissionResolver {
  @FieldResolver(() => AccountStub, {
    description: "Who signed its transaction.",
  })
  sender(@Root() { transactionSender }: Submission): AccountStub {
    return { address: transactionSender };
  }

  @FieldResolver(() => AccountStub, {
    description: "The submitter that it names. The network does not verify it.",
  })
  submitter(@Root() { submitter }: Submission): AccountStub {
    return { address: submitter };
  }

  @FieldResolver(() => FileType, { nullable: true, description: "The file that was submitted." })
  file(@Root() { root }: Submission, @Ctx() { loaders }: Context): Promise<SubmittedFile | undefined> {
    return loaders.files.load(root);
  }
}
