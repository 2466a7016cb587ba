import { Button, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Copyable } from "../value/copyable.tsx";
import { Dialog, DialogButtons } from "./dialog.tsx";

/** Shows a secret once. Closing it, or leaving its page, without copying it needs a confirmation. */
export function SecretDialog({
  secret,
  title = "Your new key",
  what = "key",
  onClose,
  children,
}: {
  secret: string;
  title?: string;
  /** What the secret is, in a sentence. */
  what?: string;
  onClose(): void;
  /** Below the secret: how to use it. */
  children?: ReactNode;
}) {
  const [copied, setCopied] = useState(false);
  const [asking, setAsking] = useState(false);
  const mayClose = () => {
    if (!copied) setAsking(true);
    return copied;
  };
  useBlocker({
    // A list of the page may change its position in the URL.
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && !mayClose(),
    enableBeforeUnload: !copied,
    disabled: copied,
  });
  return (
    <Dialog title={title} onClose={onClose} mayClose={mayClose} size="lg">
      <Text mb="md">
        <strong>It is shown only once.</strong> It is not stored, so it cannot be shown again.
      </Text>
      <Copyable text={secret} label="The secret" onCopied={() => setCopied(true)} />
      {children && <div className="secret-use">{children}</div>}
      {asking && !copied ? (
        <>
          <Text role="alert" mt="md">
            You have not copied the {what}. Close anyway?
          </Text>
          <DialogButtons>
            <Button variant="default" onClick={() => setAsking(false)}>
              Go back
            </Button>
            <Button color="red" onClick={onClose}>
              Close, I have it
            </Button>
          </DialogButtons>
        </>
      ) : (
        <DialogButtons>
          <Button onClick={() => mayClose() && onClose()}>Done</Button>
        </DialogButtons>
      )}
    </Dialog>
  );
}
