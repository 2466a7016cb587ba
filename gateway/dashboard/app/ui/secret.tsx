import { useState } from "react";
import { Button, Dialog } from "./controls.tsx";
import { Copyable } from "./copy.tsx";

/** Shows a secret once. Closing it without copying needs a confirmation. */
export function SecretDialog({
  secret,
  title = "Your new key",
  onClose,
}: {
  secret: string;
  title?: string;
  onClose(): void;
}) {
  const [copied, setCopied] = useState(false);
  const [asking, setAsking] = useState(false);
  const mayClose = () => {
    if (!copied) setAsking(true);
    return copied;
  };
  return (
    <Dialog title={title} onClose={onClose} mayClose={mayClose}>
      <p>
        <strong>It is shown only once.</strong> It is not stored, so it cannot be shown again.
      </p>
      <Copyable text={secret} label="The secret" onCopied={() => setCopied(true)} />
      <footer>
        {asking && !copied ? (
          <>
            <p role="alert">You have not copied the key. Close anyway?</p>
            <Button onClick={() => setAsking(false)}>Go back</Button>
            <Button kind="danger" onClick={onClose}>
              Close, I have it
            </Button>
          </>
        ) : (
          <Button kind="primary" onClick={() => mayClose() && onClose()}>
            Done
          </Button>
        )}
      </footer>
    </Dialog>
  );
}
