import { Button, VisuallyHidden } from "@mantine/core";
import Check from "lucide-react/icons/check";
import Copy from "lucide-react/icons/copy";
import { useRef, useState } from "react";
import { copyText } from "../../data/copy.ts";

/** A button that copies a text, and shows Copied only on success; otherwise `element` is selected. */
export function CopyButton({
  text,
  element,
  onCopied,
}: {
  text: string;
  element(): HTMLElement | null;
  onCopied?: () => void;
}) {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  const copy = async () => {
    const done = await copyText(text, element());
    setState(done ? "copied" : "failed");
    if (done) onCopied?.();
  };
  const failed = "Copying failed. The text is selected: press Ctrl+C or ⌘C.";
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={state === "copied" ? <Check size={14} /> : <Copy size={14} />}
        onClick={copy}
      >
        {state === "copied" ? "Copied" : "Copy"}
      </Button>
      <span role="status" className={state === "failed" ? "bad-text" : undefined}>
        {state === "copied" && <VisuallyHidden>Copied</VisuallyHidden>}
        {state === "failed" && failed}
      </span>
    </>
  );
}

/** Text with a copy button. It can also be selected by hand. */
export function Copyable({ text, label, onCopied }: { text: string; label: string; onCopied?: () => void }) {
  const output = useRef<HTMLElement>(null);
  return (
    <div className="copyable">
      <VisuallyHidden>{label}:</VisuallyHidden>
      <code ref={output} className="selectable">
        {text}
      </code>
      <CopyButton text={text} element={() => output.current} {...(onCopied && { onCopied })} />
    </div>
  );
}
