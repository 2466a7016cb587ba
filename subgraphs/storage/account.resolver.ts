import "../shared/schema/reflect.ts";
import { Args, Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import { lowerHex } from "../../src/kernel/text/hex.ts";
import type { SubmittedFile } from "../../src/storage/submissions/submissions.service.ts";
import type { Context } from "../shared/context.ts";
import { type Connection, PageArgs, toPageRequest, toPlacedConnection } from "../shared/schema/connection.ts";
import { AccountStub } from "./account.stub.ts";
import { listFiles } from "./files/file.resolver.ts";
import { FileConnection } from "./files/file.type.ts";
import { type Submission, SubmissionConnection } from "./submissions/submission.type.ts";

/** An account's stored files. Public on-chain data. */
@Resolver(() => AccountStub)
export class AccountResolver {
  @FieldResolver(() => SubmissionConnection, {
    nullable: true,
    description: "The submissions whose transactions the account signed, newest first. Public on-chain data.",
  })
  async submissions(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<Submission>> {
    const filter = { sender: lowerHex(address) };
    const page = await services.submissions.list(toPageRequest(args), filter);
    return toPlacedConnection(page, () => services.submissions.count(filter));
  }

  @FieldResolver(() => FileConnection, {
    nullable: true,
    description: "The files whose first submission the account sent, newest first. Public on-chain data.",
  })
  files(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() context: Context,
  ): Promise<Connection<SubmittedFile>> {
    return listFiles(context, args, { owner: lowerHex(address) });
  }
}
