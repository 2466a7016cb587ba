import { Button, Group } from "@mantine/core";
import type { ReactNode } from "react";
import type { DefaultValues, FieldPath, FieldValues } from "react-hook-form";
import type * as z from "zod";
import { ConfirmDialog, Dialog } from "./dialog.tsx";
import { TextField } from "./fields.tsx";
import { GraphForm } from "./form.tsx";
import { SecretDialog } from "./secret-dialog.tsx";
import { MAX_NAME_LENGTH } from "./texts.ts";
import { useOwnClose } from "./use-own-close.ts";

type NamedKey = { readonly id: string; readonly name: string; readonly status?: string };

/** Which dialog is open, and for which key. */
export type OpenDialog<Key> =
  | { readonly kind: "create" }
  | { readonly kind: "edit" | "revoke"; readonly key: Key }
  | { readonly kind: "secret"; readonly secret: string };

type Props<Key, Input extends FieldValues, Terms extends object> = {
  readonly open: OpenDialog<Key> | undefined;
  readonly onOpen: (open: OpenDialog<Key> | undefined) => void;
  /** With its article: `an API key`. */
  readonly what: string;
  /** The fields, with `name` among them. */
  readonly schema: z.ZodType<Terms, Input>;
  valuesOf(given: Key | undefined): DefaultValues<Input>;
  readonly fieldOf?: Readonly<Record<string, FieldPath<Input>>>;
  /** The fields besides the name. */
  fields(given: Key | undefined): ReactNode;
  /** Returns the secret. */
  create(terms: Terms): Promise<string>;
  update(key: Key, changes: Partial<Terms>): Promise<void>;
  revoke(key: Key): Promise<void>;
  /** What revoking leads to. */
  consequence(key: Key): ReactNode;
  /** How to use a new key, below its secret. */
  readonly use?: ((secret: string) => ReactNode) | undefined;
};

/** Dialogs that create, edit and revoke keys: a secret is shown once, and revoking needs a confirmation. */
export function KeyDialogs<Key extends NamedKey, Input extends FieldValues, Terms extends object>(
  props: Props<Key, Input, Terms>,
) {
  const { open, onOpen, what, fieldOf } = props;
  const close = () => onOpen(undefined);
  const closeAfter = useOwnClose(open, close);
  if (!open) return null;
  if (open.kind === "secret")
    return (
      <SecretDialog secret={open.secret} onClose={close}>
        {props.use?.(open.secret)}
      </SecretDialog>
    );
  if (open.kind === "revoke")
    return (
      <ConfirmDialog
        title={`Revoke ${open.key.name}?`}
        label="Revoke"
        done={`${open.key.name} is revoked.`}
        onClose={close}
        act={() => props.revoke(open.key)}
      >
        {props.consequence(open.key)}
      </ConfirmDialog>
    );
  const given = open.kind === "edit" ? open.key : undefined;
  const send = async (terms: Terms, changes: Partial<Terms>) => {
    if (!given) return onOpen({ kind: "secret", secret: await props.create(terms) });
    if (Object.keys(changes).length > 0) await props.update(given, changes);
    closeAfter();
  };
  return (
    <Dialog title={given ? `Edit ${given.name}` : `Create ${what}`} onClose={close} size="lg">
      <GraphForm
        schema={props.schema}
        defaultValues={props.valuesOf(given)}
        label={given ? "Save" : "Create"}
        send={send}
        {...(fieldOf && { fieldOf })}
        buttons={
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        }
      >
        <TextField label="Name" name="name" required maxLength={MAX_NAME_LENGTH} data-autofocus />
        {props.fields(given)}
      </GraphForm>
    </Dialog>
  );
}

/** The buttons of an active key. */
export function KeyActions<Key extends NamedKey>({
  of,
  onOpen,
}: {
  of: Key;
  onOpen(open: OpenDialog<Key>): void;
}) {
  if (of.status !== "ACTIVE") return null;
  return (
    <Group gap={6} justify="flex-end" wrap="nowrap">
      <Button
        size="compact-sm"
        variant="default"
        onClick={() => onOpen({ kind: "edit", key: of })}
        aria-label={`Edit ${of.name}`}
      >
        Edit
      </Button>
      <Button
        size="compact-sm"
        variant="subtle"
        color="red"
        onClick={() => onOpen({ kind: "revoke", key: of })}
        aria-label={`Revoke ${of.name}`}
      >
        Revoke
      </Button>
    </Group>
  );
}
