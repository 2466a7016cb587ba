import type { Context } from "../shared/context.ts";
import { EventCursorResolver } from "../shared/events/event-cursor.resolver.ts";
import { nodeOrKeyReference, nodeReference } from "../shared/nodes/find-node.ts";
import { buildSubgraph, type Subgraph } from "../shared/schema/build-subgraph.ts";
import { findAccount } from "./account.stub.ts";
import { SpeechResolver } from "./audio/speech.resolver.ts";
import { TranscriptionResolver } from "./audio/transcription.resolver.ts";
import { BatchResolver } from "./batches/batch.resolver.ts";
import { BatchSubscription } from "./batches/batch.subscription.ts";
import { BatchNodeResolvers } from "./batches/batch.type.ts";
import { ChatResolver } from "./chat/chat.resolver.ts";
import { CompleteChatSubscription } from "./chat/complete-chat.subscription.ts";
import { EmbeddingsResolver } from "./embeddings/embeddings.resolver.ts";
import { ImageJobResolver, JobImageResolver } from "./images/image-job.resolver.ts";
import { ImageJobNodeResolvers } from "./images/image-job.type.ts";
import { ImageJobProgressSubscription } from "./images/image-job-progress.subscription.ts";
import { ImagesResolver } from "./images/images.resolver.ts";
import { SubmitImageJobResolver } from "./images/submit-image-job.resolver.ts";
import { CreateMessageSubscription } from "./messages/create-message.subscription.ts";
import { MessageResolver } from "./messages/message.resolver.ts";
import { ModelResolver } from "./models/model.resolver.ts";
import { ModelNodeResolvers } from "./models/model.type.ts";
import { findProvider, ProviderResolver } from "./models/provider.resolver.ts";
import { ProviderNodeResolvers } from "./models/provider.type.ts";
import { ServiceTypesResolver } from "./models/service-types.resolver.ts";
import { AccountResolver } from "./requests/account.resolver.ts";
import { InferenceRequestResolver } from "./requests/inference-request.resolver.ts";
import { InferenceRequestNodeResolvers } from "./requests/inference-request.type.ts";
import { ReceiptLogResolver } from "./requests/receipt-log.resolver.ts";
import { RerankResolver } from "./rerank/rerank.resolver.ts";
import { RoutingPreviewResolver } from "./routing/routing-preview.resolver.ts";

/** The inference subgraph: models, providers and requests. */
export function build(): Subgraph {
  return buildSubgraph<Context>(
    "inference",
    [
      ModelResolver,
      ProviderResolver,
      ServiceTypesResolver,
      InferenceRequestResolver,
      ReceiptLogResolver,
      AccountResolver,
      RoutingPreviewResolver,
      ChatResolver,
      CompleteChatSubscription,
      MessageResolver,
      CreateMessageSubscription,
      ImagesResolver,
      TranscriptionResolver,
      EmbeddingsResolver,
      RerankResolver,
      SpeechResolver,
      ImageJobResolver,
      SubmitImageJobResolver,
      JobImageResolver,
      ImageJobProgressSubscription,
      BatchResolver,
      BatchSubscription,
      EventCursorResolver,
      ...BatchNodeResolvers,
      ...ImageJobNodeResolvers,
      ...InferenceRequestNodeResolvers,
      ...ModelNodeResolvers,
      ...ProviderNodeResolvers,
    ],
    {
      references: {
        Account: findAccount,
        Provider: nodeOrKeyReference("Provider", findProvider),
        InferenceRequest: nodeReference("InferenceRequest"),
        ImageJob: nodeReference("ImageJob"),
        Batch: nodeReference("Batch"),
        Model: nodeReference("Model"),
      },
    },
  );
}
