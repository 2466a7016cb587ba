import { ActionIcon, Tooltip } from "@mantine/core";
import Check from "lucide-react/icons/check";
import Copy from "lucide-react/icons/copy";
import { useState } from "react";
import { copyText, notCopied } from "../../data/copy.ts";
import { toastFailure } from "../../data/toast.ts";

const COPIED_MS = 1_500;

/**
 * An address, hash or id, shortened unless `isWhole`; the full value on hover, and with `withCopy` a button that copies
 * it.
 */
export function Hash({
  of,
  withCopy = false,
  isWhole = false,
}: {
  of: string;
  withCopy?: boolean;
  isWhole?: boolean;
}) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    if (!(await copyText(of, null))) return toastFailure(notCopied(of));
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <span className={isWhole ? "hash whole" : "hash"}>
      {isWhole ? (
        <code className="selectable">{of}</code>
      ) : (
        <Tooltip label={of}>
          <code>{of.length > 14 ? `${of.slice(0, 8)}…${of.slice(-4)}` : of}</code>
        </Tooltip>
      )}
      {withCopy && (
        <ActionIcon
          variant="subtle"
          color="gray"
          size="xs"
          onClick={copy}
          aria-label={isCopied ? "Copied" : `Copy ${of}`}
        >
          {isCopied ? <Check size={12} /> : <Copy size={12} />}
        </ActionIcon>
      )}
    </span>
  );
}
