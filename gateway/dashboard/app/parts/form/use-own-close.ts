import { useEffect, useRef } from "react";

/**
 * What closes a dialog after its answer: only if the dialog is still open. It may have been closed while the answer was
 * awaited, and another be open, whose fields would be lost. `open` is the state that the dialog is open by.
 */
export function useOwnClose(open: unknown, onClose: () => void): () => void {
  const shown = useRef<unknown>(undefined);
  useEffect(() => {
    shown.current = open;
    return () => {
      shown.current = undefined;
    };
  }, [open]);
  return () => {
    if (open !== undefined && shown.current === open) onClose();
  };
}
