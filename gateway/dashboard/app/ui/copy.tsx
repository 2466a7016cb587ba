import { useRef, useState } from "react";
import { Button } from "./controls.tsx";

/**
 * Text with a copy button. It can be selected by hand, and copying also works on plain HTTP, where browsers offer no
 * clipboard API: then the text is selected and copied by a command. It shows Copied only on success.
 */
export function Copyable({ text, label, onCopied }: { text: string; label: string; onCopied?: () => void }) {
  const output = useRef<HTMLElement>(null);
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  const copy = async () => {
    const done = (await copyByClipboard(text)) || copyBySelection(output.current);
    setState(done ? "copied" : "failed");
    if (done) onCopied?.();
    else select(output.current);
  };
  return (
    <div className="copyable">
      <span className="unseen">{label}:</span>
      <code ref={output} className="selectable">
        {text}
      </code>
      <Button onClick={copy}>{state === "copied" ? "Copied" : "Copy"}</Button>
      <span role="status" className={state === "failed" ? "failure" : "unseen"}>
        {state === "copied" && "Copied"}
        {state === "failed" && "Copying failed. The text is selected: press Ctrl+C or ⌘C."}
      </span>
    </div>
  );
}

async function copyByClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function copyBySelection(element: HTMLElement | null): boolean {
  select(element);
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  }
}

function select(element: HTMLElement | null): void {
  const selection = getSelection();
  if (!element || !selection) return;
  const range = document.createRange();
  range.selectNodeContents(element);
  selection.removeAllRanges();
  selection.addRange(range);
}
