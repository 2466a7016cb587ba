import { Button } from "@mantine/core";
import { useMutation } from "urql";
import * as z from "zod";
import { graphql, resultOf } from "../../data/query/graph.ts";
import { toastSuccess } from "../../data/toast.ts";
import { ActionButton } from "../../parts/form/action-button.tsx";
import { Dialog, DialogButtons } from "../../parts/form/dialog.tsx";
import { TextField } from "../../parts/form/fields.tsx";
import { GraphForm } from "../../parts/form/form.tsx";
import { text } from "../../parts/form/texts.ts";
import { useOwnClose } from "../../parts/form/use-own-close.ts";
import type { Open, Webhook } from "./webhook.ts";

const REPLAY = graphql(`
  mutation ReplayWebhook($input: ReplayWebhookInput!) {
    replayWebhook(input: $input) { webhook { id cursor } userErrors { field message } }
  }
`);
const ROTATE = graphql(`
  mutation RotateWebhookSecret($input: RotateWebhookSecretInput!) {
    rotateWebhookSecret(input: $input) { secret userErrors { field message } }
  }
`);

const MAX_CURSOR_LENGTH = 256;
const schema = z.object({
  after: text(MAX_CURSOR_LENGTH, "The cursor of a delivery, from its body."),
});

/** Delivers the events after a cursor to a webhook again. */
export function ReplayDialog({ webhook, onClose }: { webhook: Webhook; onClose(): void }) {
  const [, replay] = useMutation(REPLAY);
  const closeAfter = useOwnClose(webhook.id, onClose);
  return (
    <Dialog title={`Redeliver to ${webhook.name}`} onClose={onClose} size="lg">
      <GraphForm
        schema={schema}
        defaultValues={{ after: "" }}
        label="Redeliver"
        buttons={
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
        }
        send={async ({ after }) => {
          const done = await replay({ input: { id: webhook.id, after } });
          resultOf(done.data?.replayWebhook, done.error);
          toastSuccess(`Events are redelivered to ${webhook.name}.`);
          closeAfter();
        }}
      >
        <p>
          Every event after the cursor is delivered again, with the same ID and a new sequence number. Events
          are kept for 24 hours. A disabled webhook is enabled.
        </p>
        <TextField
          label="After the cursor"
          name="after"
          required
          maxLength={MAX_CURSOR_LENGTH}
          data-autofocus
          hint="The member cursor of the last delivery that your server has processed, or of an event of a subscription."
        />
      </GraphForm>
    </Dialog>
  );
}

/** Asks for confirmation of a new signing secret, which is then shown once. */
export function RotateDialog({
  webhook,
  onOpen,
  onClose,
}: {
  webhook: Webhook;
  onOpen(open: Open): void;
  onClose(): void;
}) {
  const [, rotate] = useMutation(ROTATE);
  return (
    <Dialog title={`Rotate the secret of ${webhook.name}?`} onClose={onClose}>
      <p>
        For 24 hours every delivery has two signatures, of the new secret and of the present one: change your
        server meanwhile. After that the present secret is worthless.
      </p>
      <DialogButtons>
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <ActionButton
          variant="filled"
          act={async () => {
            const done = await rotate({ input: { id: webhook.id } });
            const { secret } = resultOf(done.data?.rotateWebhookSecret, done.error);
            onOpen({ kind: "secret", secret: secret ?? "" });
          }}
        >
          Rotate secret
        </ActionButton>
      </DialogButtons>
    </Dialog>
  );
}
