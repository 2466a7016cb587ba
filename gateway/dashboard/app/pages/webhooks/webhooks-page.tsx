import { Button } from "@mantine/core";
import Plus from "lucide-react/icons/plus";
import { useState } from "react";
import { useQuery } from "urql";
import { graphql } from "../../data/query/graph.ts";
import { Page } from "../../parts/page/page.tsx";
import { EmptyState, Outcome } from "../../parts/page/states.tsx";
import type { Open, Webhook } from "./webhook.ts";
import { WebhookCard } from "./webhook-card.tsx";
import { WebhookDialogs } from "./webhook-dialogs.tsx";

const WEBHOOKS = graphql(`
  query Webhooks {
    viewer {
      account {
        webhooks(first: 20) {
          nodes {
            id name url events balanceThreshold status disabledReason sequence consecutiveFailures nextAttemptAt
            previousSecretUntil cursor
            attempts { number eventId event sequence attemptedAt result { delivered status failure durationMs } }
          }
        }
      }
    }
  }
`);

/** The URLs to which events of the account are posted. */
export function WebhooksPage() {
  const [{ data, error, fetching }, refetch] = useQuery({ query: WEBHOOKS });
  const [open, setOpen] = useState<Open>();
  const refresh = () => refetch({ requestPolicy: "network-only" });
  const close = () => {
    setOpen(undefined);
    refresh();
  };
  const webhooks: readonly Webhook[] | undefined = data?.viewer?.account?.webhooks?.nodes;
  return (
    <Page
      title="Webhooks"
      about="Signed events, sent to your URLs in order and retried until your server accepts them."
      actions={
        <>
          <Button variant="default" onClick={refresh}>
            Refresh
          </Button>
          <Button leftSection={<Plus size={16} />} onClick={() => setOpen({ kind: "create" })}>
            Create a webhook
          </Button>
        </>
      }
    >
      <Outcome value={webhooks} error={error} fetching={fetching} onRetry={refresh}>
        {(rows) =>
          rows.length === 0 ? (
            <div className="card">
              <EmptyState title="No webhooks yet.">
                <p>Create one to notify your server when a deposit is credited or a job ends.</p>
              </EmptyState>
            </div>
          ) : (
            rows.map((webhook) => (
              <WebhookCard key={webhook.id} webhook={webhook} onOpen={setOpen} refresh={refresh} />
            ))
          )
        }
      </Outcome>
      <WebhookDialogs open={upToDate(open, webhooks)} onOpen={setOpen} onClose={close} refresh={refresh} />
    </Page>
  );
}

/** A dialog shows its webhook as it was last queried, not as it was when the dialog was opened. */
function upToDate(open: Open | undefined, webhooks: readonly Webhook[] | undefined): Open | undefined {
  if (open === undefined || !("webhook" in open)) return open;
  return { ...open, webhook: webhooks?.find(({ id }) => id === open.webhook.id) ?? open.webhook };
}
