import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, ID, Query, Resolver, Root } from "type-graphql";
import { listTags, type Tag } from "../../../src/accounts/tags/tags.ts";
import type { Model, Provider } from "../../../src/inference/providers/provider.ts";
import { type FinishReason, nameFinishReason } from "../../../src/inference/requests/finish-reason.ts";
import type { InferenceRequest } from "../../../src/inference/requests/requests.service.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { NODE_FINDERS } from "../../shared/nodes/find-node.ts";
import { readKeyOf, toNodeId } from "../../shared/nodes/node-id.ts";
import { ErrorCodeType, type RecordedCode, toErrorCode } from "../../shared/schema/error-code.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { TagType } from "../../shared/tag.type.ts";
import { AccountStub } from "../account.stub.ts";
import { ApiKeyStub } from "../api-key.stub.ts";
import { ModelType } from "../models/model.type.ts";
import { ProviderType } from "../models/provider.type.ts";
import { RequestRoutingType } from "../routing/routing.type.ts";
import { EvidenceType, toEvidence } from "./evidence.type.ts";
import { FinishReasonType, InferenceRequestType, RequestTimingType } from "./inference-request.type.ts";
import { ReceiptType, toReceipt } from "./receipt.type.ts";

/** The caller's requests, and their links to other types. */
@Resolver(() => InferenceRequestType)
export class InferenceRequestResolver {
  @Requires("request.read")
  @Query(() => InferenceRequestType, {
    nullable: true,
    description:
      "One of the caller's requests. Null if there is none with this id. Requires the scope `account:read`.",
  })
  request(
    @Arg("id", () => ID, { description: "The request's id." }) id: string,
    @Ctx() context: Context,
  ): ReturnType<typeof NODE_FINDERS.InferenceRequest> {
    return NODE_FINDERS.InferenceRequest(readKeyOf("InferenceRequest", id), context);
  }

  @FieldResolver(() => String, {
    description:
      "The id of the model that answered: the requested model or a fallback. The requested model if none answered.",
  })
  modelId(@Root() { model }: InferenceRequest): string {
    return model;
  }

  @FieldResolver(() => ModelType, {
    nullable: true,
    description: "The model of `modelId`. Null if no provider offers it any more.",
  })
  model(@Root() { model, serviceType }: InferenceRequest, @Ctx() { services }: Context): Model | undefined {
    return services.catalogue.model(model, serviceType);
  }

  @FieldResolver(() => ErrorCodeType, {
    nullable: true,
    description: "Why the request failed or ended early. Null otherwise, and if its client disconnected.",
  })
  errorCode(@Root() { errorCode }: InferenceRequest): RecordedCode | null {
    return toErrorCode(errorCode);
  }

  @FieldResolver(() => AddressScalar, { description: "The address of the provider." })
  providerAddress(@Root() { provider }: InferenceRequest): string {
    return provider;
  }

  @FieldResolver(() => ProviderType, {
    nullable: true,
    description: "The provider. Null if it is no longer registered.",
  })
  provider(@Root() { provider }: InferenceRequest, @Ctx() { services }: Context): Provider | undefined {
    return services.catalogue.provider(provider);
  }

  @FieldResolver(() => [TagType], { description: "The tags of the request, sorted by name." })
  tags(@Root() { tags }: InferenceRequest): readonly Tag[] {
    return listTags(tags);
  }

  @FieldResolver(() => AccountStub, { description: "The account that pays for the request." })
  account(@Root() { account }: InferenceRequest): AccountStub {
    return { address: account };
  }

  @FieldResolver(() => ApiKeyStub, {
    nullable: true,
    description: "The `sk-` key that the request was sent with. Null if it was sent with another credential.",
  })
  apiKey(@Root() { apiKeyId }: InferenceRequest): ApiKeyStub | null {
    return apiKeyId === null ? null : { id: toNodeId("ApiKey", apiKeyId) };
  }

  @FieldResolver(() => RequestTimingType, { description: "The duration of the request." })
  timing(@Root() { routing, firstByteMs, durationMs }: InferenceRequest): RequestTimingType {
    const { receivedMs = null, admittedMs = null } = routing ?? {};
    return { receivedMs, admittedMs, firstByteMs, durationMs };
  }

  @FieldResolver(() => RequestRoutingType, {
    nullable: true,
    description: "How the request was routed. Null until it ended.",
  })
  routing(@Root() { routing }: InferenceRequest): RequestRoutingType | null {
    if (!routing) return null;
    const { attempts: tried, refused, cachedBy } = routing;
    return { tried, refused, cachedBy };
  }

  @FieldResolver(() => Boolean, {
    nullable: true,
    description:
      "Whether the answer was sent as a stream. Null while the request runs, and for requests recorded by earlier versions.",
  })
  streamed(@Root() { routing }: InferenceRequest): boolean | null {
    return routing?.streamed ?? null;
  }

  @FieldResolver(() => FinishReasonType, {
    nullable: true,
    description:
      "Why the answer ended. Null if the provider's reason matches none of these values, and for a request that was not completed or has no text.",
  })
  finishReason(@Root() { routing }: InferenceRequest): FinishReason | null {
    return nameFinishReason(routing?.finishReason) ?? null;
  }

  @FieldResolver(() => String, {
    nullable: true,
    description:
      "Why the answer ended, as the provider stated it, up to 64 characters. Null if it stated no reason, and for a request that was not completed.",
  })
  nativeFinishReason(@Root() { routing }: InferenceRequest): string | null {
    return routing?.finishReason ?? null;
  }

  @FieldResolver(() => String, {
    nullable: true,
    description:
      "The raw id of the earlier request whose stored response, with its evidence, was returned. Null if a provider answered.",
  })
  cachedFrom(@Root() { routing }: InferenceRequest): string | null {
    return routing?.cachedFrom ?? null;
  }

  @FieldResolver(() => EvidenceType, {
    nullable: true,
    description:
      "The provider's proof of its answer. Null unless `verifyTee` was set or evidence was required.",
  })
  async evidence(
    @Root() { id }: InferenceRequest,
    @Ctx() { loaders }: Context,
  ): Promise<EvidenceType | null> {
    const found = await loaders.evidence.load(id);
    return found ? toEvidence(found) : null;
  }

  @FieldResolver(() => ReceiptType, {
    nullable: true,
    description:
      "The router's signed receipt. Null until it is written, some seconds after the request ended.",
  })
  async receipt(@Root() { id }: InferenceRequest, @Ctx() { loaders }: Context): Promise<ReceiptType | null> {
    const found = await loaders.receipts.load(id);
    return found ? toReceipt(found) : null;
  }
}
