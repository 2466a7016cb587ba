import { type ReactNode, useState } from "react";
import { useMutation, useQuery } from "urql";
import { toNeuron, toTokens } from "../amounts.ts";
import { graphql, resultOf } from "../graph.ts";
import { useNetwork } from "../session.tsx";
import { ActionButton, Button, Confirm, Dialog, Field, Form } from "../ui/controls.tsx";
import { SecretDialog } from "../ui/secret.tsx";
import { Badge, Card, Outcome, Page, Table, Time } from "../ui/show.tsx";

const WEBHOOKS = graphql(`
  query Webhooks {
    viewer {
      account {
        webhooks(first: 20) {
          nodes {
            id name url events balanceThreshold status disabledReason sequence consecutiveFailures nextAttemptAt
            attempts { number event sequence attemptedAt result { delivered status failure durationMs } }
          }
        }
      }
    }
  }
`);
const CREATE = graphql(`
  mutation CreateWebhook($input: CreateWebhookInput!) {
    createWebhook(input: $input) { secret webhook { id } userErrors { message } }
  }
`);
const UPDATE = graphql(`
  mutation UpdateWebhook($input: UpdateWebhookInput!) {
    updateWebhook(input: $input) { webhook { id } userErrors { message } }
  }
`);
const DELETE = graphql(`
  mutation DeleteWebhook($input: DeleteWebhookInput!) {
    deleteWebhook(input: $input) { deleted userErrors { message } }
  }
`);
const TEST = graphql(`
  mutation TestWebhook($input: TestWebhookInput!) {
    testWebhook(input: $input) {
      result { delivered status failure durationMs }
      userErrors { message }
    }
  }
`);
const ROTATE = graphql(`
  mutation RotateWebhookSecret($input: RotateWebhookSecretInput!) {
    rotateWebhookSecret(input: $input) { secret userErrors { message } }
  }
`);

const EVENTS = [
  ["JOB_PROGRESSED", "an image job made a step"],
  ["JOB_ENDED", "an image job ended"],
  ["DEPOSIT_SEEN", "a deposit is on the chain"],
  ["DEPOSIT_CREDITED", "a deposit was credited"],
  ["DEPOSIT_REVERTED", "a deposit was reorged out"],
  ["BALANCE_LOW", "the balance is below the threshold"],
  ["API_KEY_CREATED", "an sk- key was created"],
  ["API_KEY_UPDATED", "an sk- key was changed"],
  ["API_KEY_REVOKED", "an sk- key was revoked"],
  ["API_KEY_LIMIT_REACHED", "an sk- key used 80 % or all of its limit"],
  ["MANAGEMENT_KEY_CREATED", "an mk- key was created"],
  ["MANAGEMENT_KEY_UPDATED", "an mk- key was changed"],
  ["MANAGEMENT_KEY_REVOKED", "an mk- key was revoked"],
  ["SEALED_KEY_PUBLISHED", "keys were sealed for this account"],
  ["SEALED_KEY_REVERTED", "sealed keys were reorged out"],
  ["WEBHOOK_DISABLED", "another webhook was disabled"],
] as const;
type EventName = (typeof EVENTS)[number][0];

type Result = {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly failure: string | null;
  readonly durationMs: number;
};
type Attempt = {
  readonly number: number;
  readonly event: string;
  readonly sequence: number;
  readonly attemptedAt: string;
  readonly result: Result;
};
type Webhook = {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly balanceThreshold: string | null;
  readonly status: string;
  readonly disabledReason: string | null;
  readonly sequence: number;
  readonly consecutiveFailures: number;
  readonly nextAttemptAt: string | null;
  readonly attempts: readonly Attempt[];
};
type Open =
  | { readonly kind: "create" }
  | { readonly kind: "secret"; readonly secret: string }
  | { readonly kind: "edit" | "delete" | "attempts"; readonly webhook: Webhook };

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
      about="Events of this account are posted to your URLs, signed, in order, and again until they are accepted."
      actions={
        <>
          <Button onClick={refresh}>Refresh</Button>
          <Button kind="primary" onClick={() => setOpen({ kind: "create" })}>
            Create a webhook
          </Button>
        </>
      }
    >
      <Outcome rows={webhooks} error={error} fetching={fetching} empty="No webhooks yet.">
        {(rows) =>
          rows.map((webhook) => (
            <WebhookCard key={webhook.id} webhook={webhook} onOpen={setOpen} refresh={refresh} />
          ))
        }
      </Outcome>
      <Dialogs open={open} onOpen={setOpen} onClose={close} />
    </Page>
  );
}

function WebhookCard({
  webhook,
  onOpen,
  refresh,
}: {
  webhook: Webhook;
  onOpen(open: Open): void;
  refresh(): void;
}) {
  const { id, name, url, events, status, disabledReason, consecutiveFailures, nextAttemptAt } = webhook;
  const [, test] = useMutation(TEST);
  const [, update] = useMutation(UPDATE);
  const [, rotate] = useMutation(ROTATE);
  const [tested, setTested] = useState<Result>();
  const isDisabled = status === "DISABLED";
  return (
    <Card title={name} aside={<Badge state={status} />}>
      <p>
        <code>{url}</code>
      </p>
      <p className="quiet">{events.map((event) => event.toLowerCase().replaceAll("_", " ")).join(", ")}</p>
      {disabledReason && <p role="status">Disabled: {disabledReason.toLowerCase()}. Nothing is delivered.</p>}
      {nextAttemptAt && (
        <p role="status">
          {consecutiveFailures} attempts in a row failed. The next one: <Time at={nextAttemptAt} />
        </p>
      )}
      {tested && <p role="status">Test: {wordsOf(tested)}</p>}
      <div className="actions">
        <ActionButton
          act={async () => {
            const done = await test({ input: { id } });
            setTested(resultOf(done.data?.testWebhook, done.error).result ?? undefined);
          }}
        >
          Send a test
        </ActionButton>
        <Button onClick={() => onOpen({ kind: "attempts", webhook })}>Attempts</Button>
        <Button onClick={() => onOpen({ kind: "edit", webhook })}>Edit</Button>
        <ActionButton
          act={async () => {
            const done = await update({ input: { id, enabled: isDisabled } });
            resultOf(done.data?.updateWebhook, done.error);
            refresh();
          }}
        >
          {isDisabled ? "Enable" : "Disable"}
        </ActionButton>
        <ActionButton
          act={async () => {
            const done = await rotate({ input: { id } });
            const { secret } = resultOf(done.data?.rotateWebhookSecret, done.error);
            onOpen({ kind: "secret", secret: secret ?? "" });
          }}
        >
          New secret
        </ActionButton>
        <Button kind="danger" onClick={() => onOpen({ kind: "delete", webhook })}>
          Delete
        </Button>
      </div>
    </Card>
  );
}

function Dialogs({
  open,
  onOpen,
  onClose,
}: {
  open: Open | undefined;
  onOpen(open: Open): void;
  onClose(): void;
}): ReactNode {
  const [, create] = useMutation(CREATE);
  const [, update] = useMutation(UPDATE);
  const [, remove] = useMutation(DELETE);
  if (!open) return null;
  if (open.kind === "secret")
    return <SecretDialog title="Your signing secret" secret={open.secret} onClose={onClose} />;
  if (open.kind === "attempts") return <AttemptsDialog webhook={open.webhook} onClose={onClose} />;
  if (open.kind === "delete")
    return (
      <Confirm
        title={`Delete ${open.webhook.name}?`}
        label="Delete"
        onClose={onClose}
        act={async () => {
          const done = await remove({ input: { id: open.webhook.id } });
          resultOf(done.data?.deleteWebhook, done.error);
        }}
      >
        <p>Nothing more is delivered to its URL. This cannot be undone.</p>
      </Confirm>
    );
  const given = open.kind === "edit" ? open.webhook : undefined;
  const send = async (form: FormData) => {
    const input = inputOf(form);
    if (!given) {
      const made = await create({ input });
      const { secret } = resultOf(made.data?.createWebhook, made.error);
      return onOpen({ kind: "secret", secret: secret ?? "" });
    }
    const done = await update({ input: { id: given.id, ...input } });
    resultOf(done.data?.updateWebhook, done.error);
    onClose();
  };
  return (
    <Dialog title={given ? `Edit ${given.name}` : "Create a webhook"} onClose={onClose}>
      <Form label={given ? "Save" : "Create"} send={send}>
        <WebhookFields given={given} />
      </Form>
    </Dialog>
  );
}

function WebhookFields({ given }: { given: Webhook | undefined }) {
  const { symbol } = useNetwork();
  const threshold = given?.balanceThreshold ? toTokens(given.balanceThreshold).replaceAll(" ", "") : "";
  return (
    <>
      <Field label="Name" name="name" required maxLength={100} defaultValue={given?.name} />
      <Field label="URL" name="url" type="url" required maxLength={2_048} defaultValue={given?.url} />
      <fieldset>
        <legend>Events</legend>
        {EVENTS.map(([event, text]) => (
          <label key={event} className="check">
            <input
              type="checkbox"
              name="events"
              value={event}
              defaultChecked={given?.events.includes(event)}
            />
            {text}
          </label>
        ))}
      </fieldset>
      <Field
        label={`Threshold in ${symbol}`}
        name="threshold"
        inputMode="decimal"
        placeholder="none"
        hint="Needed for an event of a low balance."
        defaultValue={threshold}
      />
    </>
  );
}

/** Reads the form. Throws a user-readable error when the threshold is invalid. */
function inputOf(form: FormData) {
  const threshold = String(form.get("threshold")).trim();
  const balanceThreshold = threshold === "" ? null : toNeuron(threshold);
  if (balanceThreshold === undefined) throw new Error("The threshold is not an amount, such as 0.5.");
  return {
    name: String(form.get("name")).trim(),
    url: String(form.get("url")).trim(),
    events: form.getAll("events").map((event) => String(event) as EventName),
    balanceThreshold,
  };
}

function AttemptsDialog({ webhook, onClose }: { webhook: Webhook; onClose(): void }) {
  return (
    <Dialog title={`Attempts of ${webhook.name}`} onClose={onClose}>
      {webhook.attempts.length === 0 ? (
        <p>Nothing was delivered yet.</p>
      ) : (
        <Table label="Attempts" heads={["At", "Event", "Number", "Outcome"]}>
          {webhook.attempts.map(({ number, attemptedAt, event, sequence, result }) => (
            <tr key={number}>
              <td>
                <Time at={attemptedAt} />
              </td>
              <td>{event.toLowerCase().replaceAll("_", " ")}</td>
              <td>{sequence}</td>
              <td>{wordsOf(result)}</td>
            </tr>
          ))}
        </Table>
      )}
      <footer>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </footer>
    </Dialog>
  );
}

function wordsOf({ failure, status, durationMs }: Result): string {
  const outcome = failure === null ? "delivered" : failure.toLowerCase().replaceAll("_", " ");
  return `${outcome}, ${status === null ? "no answer" : `status ${status}`}, ${durationMs} ms`;
}
