import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Mutation, Resolver } from "type-graphql";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import { ANSWER_COPIES } from "../../shared/answer-allowance.ts";
import { cacheRequestOf } from "../../shared/cache.ts";
import type { Context } from "../../shared/context.ts";
import { runOnce } from "../../shared/once.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { toPreferences } from "../routing/routing-input.type.ts";
import { tagged } from "../tagged.ts";
import {
  CreateEmbeddingsInput,
  CreateEmbeddingsPayload,
  toEmbeddings,
  toEmbeddingsRequest,
} from "./embeddings.type.ts";

/** Embeddings of texts. */
@Resolver()
export class EmbeddingsResolver {
  @Mutation(() => CreateEmbeddingsPayload, {
    nullable: true,
    description:
      "Embeds texts as vectors. Billed even if the client disconnects before the response. Requires an `sk-` key.",
  })
  async createEmbeddings(
    @Arg("input", () => CreateEmbeddingsInput, { description: "The texts to embed." })
    { idempotencyKey: key, cacheSeconds, ...input }: CreateEmbeddingsInput,
    @Ctx() context: Context,
  ): Promise<CreateEmbeddingsPayload> {
    const { services, principal, answerAllowance, memory } = context;
    const caller = { ...permitSpender(principal, "inference.run"), requestId: newRequestId() };
    const { signal } = new AbortController();
    answerAllowance.requireRoom("createEmbeddings");
    return answerMutation(input, async () => {
      const body = await runOnce(
        context,
        { ...caller, field: "createEmbeddings", key, input, isBilled: true },
        async () => {
          const request = await toEmbeddingsRequest(input);
          const options = { signal, preferences: toPreferences(input.routing) };
          const cacheable = { ...caller, field: "createEmbeddings", input, cacheSeconds };
          const cached = { ...caller, cache: await cacheRequestOf(context, cacheable) };
          return (await services.embeddings.create(request, tagged(cached, input.tags), options)).body;
        },
      );
      // The vectors were billed: they are counted, but no longer refused.
      answerAllowance.add(body.length);
      memory.charge(ANSWER_COPIES * body.length);
      return { embeddings: toEmbeddings(await services.embeddings.read(body)) };
    });
  }
}
