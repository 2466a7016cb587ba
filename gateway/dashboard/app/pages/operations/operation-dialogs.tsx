import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { useMutation } from "urql";
import * as z from "zod";
import { graphql, resultOf } from "../../data/query/graph.ts";
import { toastSuccess } from "../../data/toast.ts";
import { ConfirmDialog, Dialog } from "../../parts/form/dialog.tsx";
import { SelectField, TextField } from "../../parts/form/fields.tsx";
import { GraphForm } from "../../parts/form/form.tsx";
import { useOwnClose } from "../../parts/form/use-own-close.ts";
import type { OpenDialog } from "./operations-query.ts";

const CLOSE = graphql(`
  mutation CloseCircuits($input: CloseProviderCircuitsInput!) {
    closeProviderCircuits(input: $input) { providerAddress userErrors { field message } }
  }
`);
const PAUSE = graphql(`
  mutation PauseProvider($input: PauseProviderInput!) {
    pauseProvider(input: $input) { providerAddress userErrors { field message } }
  }
`);
const ENABLE = graphql(`
  mutation EnableFaultyWebhook($input: EnableFaultyWebhookInput!) {
    enableFaultyWebhook(input: $input) { enabled userErrors { field message } }
  }
`);
const VERIFY = graphql(`
  mutation VerifyLedger { verifyLedger { check { faultCount } userErrors { field message } } }
`);
const RELEASE = graphql(`
  mutation ReleaseHolds { releaseExpiredHolds { releasedCount userErrors { field message } } }
`);

const PAUSES = { "600": "10 minutes", "3600": "an hour", "21600": "6 hours", "86400": "a day" } as const;
const schema = z.object({
  providerAddress: z
    .string()
    .trim()
    .regex(/^0x[0-9a-fA-F]{40}$/, "The address of a provider, 0x and 40 hexadecimal digits."),
  seconds: z.enum(["600", "3600", "21600", "86400"]).transform(Number),
});

/** The dialogs in which an operator confirms what changes the service. */
export function OperationDialogs({
  open,
  onClose,
}: {
  open: OpenDialog | undefined;
  onClose(): void;
}): ReactNode {
  const [, close] = useMutation(CLOSE);
  const [, pause] = useMutation(PAUSE);
  const [, enable] = useMutation(ENABLE);
  const [, verify] = useMutation(VERIFY);
  const [, release] = useMutation(RELEASE);
  const closeAfter = useOwnClose(open, onClose);
  if (!open) return null;
  switch (open.kind) {
    case "close":
      return (
        <ConfirmDialog
          title="Use this provider again?"
          label="Use again"
          done="Every process sends requests to the provider again."
          isHarmless
          onClose={onClose}
          act={async () => {
            const { providerAddress } = open;
            const done = await close({ input: { providerAddress } });
            resultOf(done.data?.closeProviderCircuits, done.error);
          }}
        >
          <p>
            Every process closes its circuits of <code className="breaking">{open.providerAddress}</code> and
            ends its pause. If the provider still fails, they open again after three failures.
          </p>
        </ConfirmDialog>
      );
    case "pause":
      return (
        <Dialog title="Pause a provider" onClose={onClose}>
          <GraphForm
            schema={schema}
            defaultValues={{ providerAddress: open.providerAddress ?? "", seconds: "600" }}
            label="Pause"
            buttons={
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
            }
            send={async (input) => {
              const done = await pause({ input });
              resultOf(done.data?.pauseProvider, done.error);
              toastSuccess("The provider is paused.");
              closeAfter();
            }}
          >
            <p>No process sends it requests meanwhile. Requests in progress continue.</p>
            <TextField name="providerAddress" label="Provider" placeholder="0x…" required data-autofocus />
            <SelectField name="seconds" label="For" options={PAUSES} />
          </GraphForm>
        </Dialog>
      );
    case "enable":
      return (
        <ConfirmDialog
          title={`Enable ${open.webhook.name} again?`}
          label="Enable"
          done={`${open.webhook.name} is enabled.`}
          isHarmless
          onClose={onClose}
          act={async () => {
            const done = await enable({ input: { id: open.webhook.webhookId } });
            resultOf(done.data?.enableFaultyWebhook, done.error);
          }}
        >
          <p>
            Deliveries to {open.webhook.host} resume after the last delivered event, if it is not older than a
            day. The webhook belongs to <code className="breaking">{open.webhook.accountAddress}</code>.
          </p>
        </ConfirmDialog>
      );
    case "verify":
      return (
        <ConfirmDialog
          title="Check the ledger?"
          label="Check"
          done="The ledger was checked."
          isHarmless
          onClose={onClose}
          act={async () => {
            const done = await verify({});
            resultOf(done.data?.verifyLedger, done.error);
          }}
        >
          <p>What is new since the last check is read, for at most 20 s. The database is busier meanwhile.</p>
        </ConfirmDialog>
      );
    case "release":
      return (
        <ConfirmDialog
          title="Release expired holds?"
          label="Release"
          done="Expired holds are released."
          isHarmless
          onClose={onClose}
          act={async () => {
            const done = await release({});
            resultOf(done.data?.releaseExpiredHolds, done.error);
          }}
        >
          <p>
            Money that expired requests and ended processes held goes back to its accounts. A worker does this
            every 5 s; holds of requests in progress are kept.
          </p>
        </ConfirmDialog>
      );
  }
}
