import { Button, Group } from "@mantine/core";
import { useState } from "react";
import { useMutation } from "urql";
import { graphql, resultOf } from "../../data/query/graph.ts";
import { ActionButton } from "../../parts/form/action-button.tsx";
import { Section } from "../../parts/page/page.tsx";
import { Note } from "../../parts/page/states.tsx";
import { inWords, StateBadge } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";
import { DISABLED, type Open, type Result, type Webhook, wordsOf } from "./webhook.ts";

const ENABLE = graphql(`
  mutation EnableWebhook($input: UpdateWebhookInput!) {
    updateWebhook(input: $input) { webhook { id } userErrors { field message } }
  }
`);
const TEST = graphql(`
  mutation TestWebhook($input: TestWebhookInput!) {
    testWebhook(input: $input) {
      result { delivered status failure durationMs }
      userErrors { field message }
    }
  }
`);
/** A webhook with its state, and what can be done with it. */
export function WebhookCard({
  webhook,
  onOpen,
  refresh,
}: {
  webhook: Webhook;
  onOpen(open: Open): void;
  refresh(): void;
}) {
  const { name, url, events, status, disabledReason, consecutiveFailures, nextAttemptAt } = webhook;
  const [tested, setTested] = useState<Result>();
  return (
    <Section title={name} actions={<StateBadge state={status} />}>
      <p>
        <code>{url}</code>
      </p>
      <Note>{events.map(inWords).join(", ")}</Note>
      {disabledReason && (
        <p role="status">
          Disabled: {disabledReason.toLowerCase()}. Nothing is delivered
          {DISABLED[disabledReason] && `: ${DISABLED[disabledReason]}`}.
        </p>
      )}
      <LastAttempt of={webhook} />
      {webhook.previousSecretUntil && Date.parse(webhook.previousSecretUntil) > Date.now() && (
        <p role="status">
          Signed with the previous secret too; that ends <Time at={webhook.previousSecretUntil} />.
        </p>
      )}
      {nextAttemptAt && (
        <p role="status">
          {consecutiveFailures} {consecutiveFailures === 1 ? "attempt" : "attempts in a row"} failed. Next
          attempt: {Date.parse(nextAttemptAt) <= Date.now() ? "now" : <Time at={nextAttemptAt} />}
        </p>
      )}
      {tested && <p role="status">Test: {wordsOf(tested)}</p>}
      <Actions webhook={webhook} onOpen={onOpen} refresh={refresh} onTested={setTested} />
    </Section>
  );
}

/** The newest attempt, whatever became of it. */
function LastAttempt({ of: { attempts, sequence } }: { of: Webhook }) {
  const [last] = attempts;
  if (!last) return <Note>Nothing was delivered yet.</Note>;
  const isDone = last.result.failure === null;
  return (
    <p>
      <StateBadge state={isDone ? "DELIVERED" : "FAILED"} /> {inWords(last.event)},{" "}
      <Time at={last.attemptedAt} />
      {!isDone && `: ${wordsOf(last.result)}`}
      <span className="quiet"> · {sequence.toLocaleString("en")} delivered in all</span>
    </p>
  );
}

function Actions({
  webhook,
  onOpen,
  refresh,
  onTested,
}: {
  webhook: Webhook;
  onOpen(open: Open): void;
  refresh(): void;
  onTested(result: Result | undefined): void;
}) {
  const { id, status } = webhook;
  const [, test] = useMutation(TEST);
  const [, update] = useMutation(ENABLE);
  const isDisabled = status === "DISABLED";
  return (
    <Group gap="xs">
      <ActionButton
        act={async () => {
          const done = await test({ input: { id } });
          onTested(resultOf(done.data?.testWebhook, done.error).result ?? undefined);
        }}
      >
        Send a test
      </ActionButton>
      <Button variant="default" onClick={() => onOpen({ kind: "attempts", webhook })}>
        Delivery log
      </Button>
      <Button variant="default" onClick={() => onOpen({ kind: "edit", webhook })}>
        Edit
      </Button>
      <ActionButton
        act={async () => {
          const done = await update({ input: { id, enabled: isDisabled } });
          resultOf(done.data?.updateWebhook, done.error);
          refresh();
        }}
      >
        {isDisabled ? "Enable" : "Disable"}
      </ActionButton>
      <Button variant="default" onClick={() => onOpen({ kind: "rotate", webhook })}>
        Rotate secret
      </Button>
      <Button variant="default" onClick={() => onOpen({ kind: "replay", webhook })}>
        Redeliver
      </Button>
      <Button color="red" variant="light" onClick={() => onOpen({ kind: "delete", webhook })}>
        Delete
      </Button>
    </Group>
  );
}
