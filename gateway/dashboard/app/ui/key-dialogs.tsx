import type { ReactNode } from "react";
import { Button, Confirm, Dialog, Field, Form } from "./controls.tsx";
import { SecretDialog } from "./secret.tsx";

type NamedKey = { readonly id: string; readonly name: string; readonly status?: string };

/** Which dialog is open, and for which key. */
export type OpenDialog<Key> =
  | { readonly kind: "create" }
  | { readonly kind: "edit" | "revoke"; readonly key: Key }
  | { readonly kind: "secret"; readonly secret: string };

type Props<Key, Terms> = {
  readonly open: OpenDialog<Key> | undefined;
  readonly onOpen: (open: OpenDialog<Key> | undefined) => void;
  /** With its article: `an API key`. */
  readonly what: string;
  /** The fields besides the name. */
  fields(given: Key | undefined): ReactNode;
  /** Reads the fields. Throws a user-readable error when they are invalid. */
  termsOf(form: FormData): Terms;
  /** Returns the secret. */
  create(terms: Terms & { name: string }): Promise<string>;
  update(key: Key, terms: Terms & { name: string }): Promise<void>;
  revoke(key: Key): Promise<void>;
  /** What revoking leads to. */
  consequence(key: Key): ReactNode;
};

/** Dialogs that create, edit and revoke keys: a secret is shown once, and revoking needs a confirmation. */
export function KeyDialogs<Key extends NamedKey, Terms extends object>(props: Props<Key, Terms>) {
  const { open, onOpen, what } = props;
  const close = () => onOpen(undefined);
  if (!open) return null;
  if (open.kind === "secret") return <SecretDialog secret={open.secret} onClose={close} />;
  if (open.kind === "revoke")
    return (
      <Confirm
        title={`Revoke ${open.key.name}?`}
        label="Revoke"
        onClose={close}
        act={() => props.revoke(open.key)}
      >
        {props.consequence(open.key)}
      </Confirm>
    );
  const given = open.kind === "edit" ? open.key : undefined;
  const send = async (form: FormData) => {
    const terms = { ...props.termsOf(form), name: String(form.get("name")).trim() };
    if (!given) return onOpen({ kind: "secret", secret: await props.create(terms) });
    await props.update(given, terms);
    close();
  };
  return (
    <Dialog title={given ? `Edit ${given.name}` : `Create ${what}`} onClose={close}>
      <Form label={given ? "Save" : "Create"} send={send}>
        <Field label="Name" name="name" required maxLength={64} defaultValue={given?.name} />
        {props.fields(given)}
      </Form>
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
    <>
      <Button onClick={() => onOpen({ kind: "edit", key: of })} aria-label={`Edit ${of.name}`}>
        Edit
      </Button>
      <Button
        kind="danger"
        onClick={() => onOpen({ kind: "revoke", key: of })}
        aria-label={`Revoke ${of.name}`}
      >
        Revoke
      </Button>
    </>
  );
}
