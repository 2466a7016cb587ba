import { type DragEvent, type ReactNode, useState } from "react";
import { useDropGuard } from "./use-drop-guard.ts";

/** Around the field of a file: what is dropped anywhere in it is chosen. */
export function DropArea({
  onDrop,
  hint = "or drop it here",
  children,
}: {
  /** Takes what was dropped. Its items are gone after the call, `DataTransfer.files` are not. */
  onDrop(transfer: DataTransfer): void;
  readonly hint?: string;
  children: ReactNode;
}) {
  const [isOver, setOver] = useState(false);
  useDropGuard();
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    onDrop(event.dataTransfer);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the field inside is for everyone.
    <div
      className={isOver ? "drop-area over" : "drop-area"}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {children}
      <p className="quiet">{hint}</p>
    </div>
  );
}
