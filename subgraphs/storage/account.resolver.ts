import "../shared/reflect.ts";
import { Args, Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import { lowerHex } from "../../src/kernel/hex.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../shared/connection.ts";
import type { Context } from "../shared/context.ts";
import { AccountStub } from "./account.stub.ts";
import { type Submission, SubmissionConnection } from "./submission.type.ts";

/** What was stored in an account's name. The chain tells everyone. */
@Resolver(() => AccountStub)
export class AccountResolver {
  @FieldResolver(() => SubmissionConnection, {
    description:
      "The submissions that name the account as their sender, newest first. Public, as the chain is.",
  })
  async submissions(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<Submission>> {
    const page = await services.files.submissionsBy(lowerHex(address), toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }
}
