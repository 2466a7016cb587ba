import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { useMutation } from "urql";
import { graphql, resultOf } from "../../data/query/graph.ts";
import { ConfirmDialog, Dialog } from "../../parts/form/dialog.tsx";
import { GraphForm } from "../../parts/form/form.tsx";
import { SecretDialog } from "../../parts/form/secret-dialog.tsx";
import { useOwnClose } from "../../parts/form/use-own-close.ts";
import { AttemptsDialog } from "./attempts-dialog.tsx";
import { ReplayDialog, RotateDialog } from "./replay-dialog.tsx";
import type { Open } from "./webhook.ts";
import { WebhookFields, webhookSchema, webhookValues } from "./webhook-fields.tsx";

const CREATE = graphql(`
  mutation CreateWebhook($input: CreateWebhookInput!) {
    createWebhook(input: $input) { secret webhook { id } userErrors { field message } }
  }
`);
const UPDATE = graphql(`
  mutation UpdateWebhook($input: UpdateWebhookInput!) {
    updateWebhook(input: $input) { webhook { id } userErrors { field message } }
  }
`);
const DELETE = graphql(`
  mutation DeleteWebhook($input: DeleteWebhookInput!) {
    deleteWebhook(input: $input) { deleted userErrors { field message } }
  }
`);

/** The dialogs that create, edit and delete a webhook, show its secret once, and list its attempts. */
export function WebhookDialogs({
  open,
  onOpen,
  onClose,
  refresh,
}: {
  open: Open | undefined;
  refresh(): void;
  onOpen(open: Open): void;
  onClose(): void;
}): ReactNode {
  const [, create] = useMutation(CREATE);
  const [, update] = useMutation(UPDATE);
  const [, remove] = useMutation(DELETE);
  const closeAfter = useOwnClose(open, onClose);
  if (!open) return null;
  if (open.kind === "secret")
    return (
      <SecretDialog
        title="Your signing secret"
        what="signing secret"
        secret={open.secret}
        onClose={onClose}
      />
    );
  if (open.kind === "rotate")
    return <RotateDialog webhook={open.webhook} onOpen={onOpen} onClose={onClose} />;
  if (open.kind === "replay") return <ReplayDialog webhook={open.webhook} onClose={onClose} />;
  if (open.kind === "attempts")
    return <AttemptsDialog webhook={open.webhook} refresh={refresh} onClose={onClose} />;
  if (open.kind === "delete")
    return (
      <ConfirmDialog
        title={`Delete ${open.webhook.name}?`}
        label="Delete"
        done={`${open.webhook.name} is deleted.`}
        onClose={onClose}
        act={async () => {
          const done = await remove({ input: { id: open.webhook.id } });
          resultOf(done.data?.deleteWebhook, done.error);
        }}
      >
        <p>Nothing more is delivered to its URL. This cannot be undone.</p>
      </ConfirmDialog>
    );
  const given = open.kind === "edit" ? open.webhook : undefined;
  return (
    <Dialog title={given ? `Edit ${given.name}` : "Create a webhook"} onClose={onClose} size="lg">
      <GraphForm
        schema={webhookSchema}
        defaultValues={webhookValues(given)}
        label={given ? "Save" : "Create"}
        buttons={
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
        }
        send={async (input, changes) => {
          if (!given) {
            const made = await create({ input });
            const { secret } = resultOf(made.data?.createWebhook, made.error);
            return onOpen({ kind: "secret", secret: secret ?? "" });
          }
          if (Object.keys(changes).length > 0) {
            const done = await update({ input: { id: given.id, ...changes } });
            resultOf(done.data?.updateWebhook, done.error);
          }
          closeAfter();
        }}
      >
        <WebhookFields />
      </GraphForm>
    </Dialog>
  );
}
