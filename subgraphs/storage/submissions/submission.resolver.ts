import "../../shared/schema/reflect.ts";
import { Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { SubmittedFile } from "../../../src/storage/submissions/submissions.service.ts";
import type { Context } from "../../shared/context.ts";
import { AccountStub } from "../account.stub.ts";
import { FileType } from "../files/file.type.ts";
import { type Submission, SubmissionType } from "./submission.type.ts";

/** The accounts and the file of a submission. */
@Resolver(() => SubmissionType)
export class SubmissionResolver {
  @FieldResolver(() => AccountStub, { description: "The account that signed the submission's transaction." })
  sender(@Root() { transactionSender }: Submission): AccountStub {
    return { address: transactionSender };
  }

  @FieldResolver(() => AccountStub, {
    description: "The submitter stated in the submission. The network does not verify it.",
  })
  submitter(@Root() { submitter }: Submission): AccountStub {
    return { address: submitter };
  }

  @FieldResolver(() => FileType, {
    nullable: true,
    description: "The submitted file. Null if a reorg removed it.",
  })
  file(@Root() { root }: Submission, @Ctx() { loaders }: Context): Promise<SubmittedFile | undefined> {
    return loaders.files.load(root);
  }
}
