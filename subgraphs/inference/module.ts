import { buildSubgraph, type Subgraph } from "../shared/build-subgraph.ts";
import type { Context } from "../shared/context.ts";
import { EventCursorResolver } from "../shared/event-cursor.resolver.ts";
import { AccountResolver } from "./account.resolver.ts";
import { findAccount } from "./account.stub.ts";
import { ChatResolver } from "./chat.resolver.ts";
import { ChatCompletionSubscription } from "./chat-completion.subscription.ts";
import { findImageJob, ImageJobResolver, JobImageResolver } from "./image-job.resolver.ts";
import { ImageJobProgressSubscription } from "./image-job-progress.subscription.ts";
import { ImagesResolver } from "./images.resolver.ts";
import { findRequest, InferenceRequestResolver } from "./inference-request.resolver.ts";
import { ModelResolver } from "./model.resolver.ts";
import { findProvider, ProviderResolver } from "./provider.resolver.ts";
import { RoutingPreviewResolver } from "./routing-preview.resolver.ts";
import { TranscriptionResolver } from "./transcription.resolver.ts";

/** The subgraph of inference: models, who offers them, and requests. */
export function build(): Subgraph {
  return buildSubgraph<Context>(
    "inference",
    [
      ModelResolver,
      ProviderResolver,
      InferenceRequestResolver,
      AccountResolver,
      RoutingPreviewResolver,
      ChatResolver,
      ChatCompletionSubscription,
      ImagesResolver,
      TranscriptionResolver,
      ImageJobResolver,
      JobImageResolver,
      ImageJobProgressSubscription,
      EventCursorResolver,
    ],
    {
      references: {
        Account: findAccount,
        Provider: findProvider,
        InferenceRequest: findRequest,
        ImageJob: findImageJob,
      },
    },
  );
}
