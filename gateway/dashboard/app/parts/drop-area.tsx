import { type DragEvent, type ReactNode, useState } from "react";

/** Around the field of a file: a file that is dropped anywhere in it is chosen. */
export function DropArea({ onFile, children }: { onFile(file: File): void; children: ReactNode }) {
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [file] = event.dataTransfer.files;
    if (file) onFile(file);
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
      <p className="quiet">or drop it here</p>
    </div>
  );
}
