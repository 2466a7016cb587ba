import "../../shared/schema/reflect.ts";
import { Args, Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import { type InferenceRequest, requestCursor } from "../../../src/inference/requests/requests.service.ts";
import { permitOn } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { AccountStub } from "../account.stub.ts";
import { InferenceRequestConnection } from "./inference-request.type.ts";
import { RequestsArgs, toRequestFilter, toRequestOrder } from "./request-filter.type.ts";

/** The inference requests of an account. */
@Resolver(() => AccountStub)
export class AccountResolver {
  @Requires("request.read")
  @FieldResolver(() => InferenceRequestConnection, {
    nullable: true,
    description:
      "The account's requests, or those that match a filter. Newest first unless `orderBy` is given. Requires the scope `account:read`.",
  })
  async requests(
    @Root() { address }: AccountStub,
    @Args(() => RequestsArgs) args: RequestsArgs,
    @Ctx() { services, principal, signal }: Context,
  ): Promise<Connection<InferenceRequest>> {
    permitOn(principal, "request.read", address);
    const [filter, order] = [toRequestFilter(args.filter), toRequestOrder(args.orderBy)];
    const page = await services.requests.list(address, toPageRequest(args), { filter, order, signal });
    return toConnection(
      page,
      (request) => requestCursor(request, order),
      () => services.requests.count(address, filter, signal),
    );
  }
}
