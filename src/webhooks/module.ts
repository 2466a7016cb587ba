import type { AppContext, Lifecycle } from "../app-context.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { ReceiverClient } from "./receiver.client.ts";
import { SigningSecrets } from "./signing.ts";
import { WebhookRunner } from "./webhook.runner.ts";
import { WebhooksService } from "./webhooks.service.ts";

/** The services of webhooks and their background work. */
export type WebhookModule = Lifecycle & { readonly webhooks: WebhooksService };

const TIMEOUT_MS = 15_000;

/** Creates the services of webhooks; `secret` is that of the deployment from which signing secrets are derived. */
export function createWebhookModule(
  { network, log, clock, database, events, committed }: AppContext,
  { secret, observer }: { readonly secret: string; readonly observer: Metrics | undefined },
): WebhookModule {
  const allowsPrivate = network.id === "devnet";
  const receivers = new ReceiverClient({ allowsPrivate, timeoutMs: TIMEOUT_MS });
  const secrets = new SigningSecrets(secret);
  const cursorAt = (position: bigint) => events.cursorAt(position);
  const runner = new WebhookRunner({
    ...{ database, clock, log, receivers, secrets, cursorAt, committed, observer },
  });
  return {
    webhooks: new WebhooksService({ database, events, clock, receivers, secrets, allowsPrivate }),
    startWork: () => runner.start(),
    stop: () => runner.stop(),
  };
}
