import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Field, Mutation, ObjectType, Resolver } from "type-graphql";
import type { Trace } from "../../../src/inference/billing/admitted.ts";
import { readImageRequest } from "../../../src/inference/images/image-request.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { IMAGE_COPIES } from "../../shared/image-allowance.ts";
import { IDEMPOTENCY_KEY, runOnce } from "../../shared/once.ts";
import { InferenceBillType, toBill } from "../chat/chat.type.ts";
import { toPreferences } from "../routing/routing.type.ts";
import { ImageJobInput, JobImageType, toJobBody, toJobImage } from "./image-job.type.ts";

/** Images that were made at once. */
@ObjectType("GeneratedImages", { description: "Images that were made and paid for.", simpleResolvers: true })
export class GeneratedImagesType {
  @Field(() => [JobImageType], { description: "The images." })
  images!: readonly JobImageType[];

  @Field(() => InferenceBillType, { description: "What they cost, and who made them." })
  bill!: InferenceBillType;
}

/** Images that are waited for. */
@Resolver()
export class ImagesResolver {
  @Mutation(() => GeneratedImagesType, {
    nullable: true,
    description:
      "Generates images and waits for them; `submitImageJob` does not wait. It is billed even if the client leaves. " +
      "Needs an `sk-` key.",
  })
  async generateImages(
    @Arg("input", () => ImageJobInput, { description: "What is to be made." }) input: ImageJobInput,
    @Arg("idempotencyKey", () => String, { nullable: true, description: IDEMPOTENCY_KEY })
    key: string | null,
    @Ctx() context: Context,
  ): Promise<GeneratedImagesType> {
    const { services, principal } = context;
    const caller = { ...permitSpender(principal, "inference.run"), requestId: newRequestId() };
    const { signal } = new AbortController();
    context.imageAllowance.requireRoom();
    const body = await runOnce(context, { ...caller, field: "generateImages", key, input }, async () => {
      const given = { signal, preferences: toPreferences(input.routing) };
      return (await services.images.create(readImageRequest(toJobBody(input)), caller, given)).body;
    });
    // It was paid for: it is counted, and no longer refused.
    context.imageAllowance.add(body.length);
    context.memory.charge(IMAGE_COPIES * body.length);
    const { images, trace } = await services.images.read(body);
    return { images: images.map(toJobImage), bill: toBill(trace as Trace) };
  }
}
