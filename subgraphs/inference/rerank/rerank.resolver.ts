import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Mutation, Resolver } from "type-graphql";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { runOnce } from "../../shared/once.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { toPreferences } from "../routing/routing-input.type.ts";
import { tagged } from "../tagged.ts";
import { RerankDocumentsInput, RerankDocumentsPayload, toRanking, toRerankRequest } from "./rerank.type.ts";

/** Documents ranked by a query. */
@Resolver()
export class RerankResolver {
  @Mutation(() => RerankDocumentsPayload, {
    nullable: true,
    description:
      "Ranks documents by their relevance to a query. Billed even if the client disconnects before the response. " +
      "Requires an `sk-` key.",
  })
  async rerankDocuments(
    @Arg("input", () => RerankDocumentsInput, { description: "The query and the documents." })
    { idempotencyKey: key, ...input }: RerankDocumentsInput,
    @Ctx() context: Context,
  ): Promise<RerankDocumentsPayload> {
    const { services, principal } = context;
    const caller = { ...permitSpender(principal, "inference.run"), requestId: newRequestId() };
    const { signal } = new AbortController();
    return answerMutation(input, async () => {
      const body = await runOnce(
        context,
        { ...caller, field: "rerankDocuments", key, input, isBilled: true },
        async () => {
          const request = await toRerankRequest(input);
          const options = { signal, preferences: toPreferences(input.routing) };
          return (await services.rerank.rank(request, tagged(caller, input.tags), options)).body;
        },
      );
      return { ranking: toRanking(body) };
    });
  }
}
