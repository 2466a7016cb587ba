import { useEffect } from "react";

/**
 * Refuses files that are dropped beside the places that take them, while the component is mounted: a browser would show such a
 * file in place of the page. The fields of files take them by themselves.
 */
export function useDropGuard(): void {
  useEffect(() => {
    const refuse = (event: DragEvent) => {
      const { target, dataTransfer } = event;
      if (event.defaultPrevented || !dataTransfer?.types.includes("Files")) return;
      if (target instanceof HTMLInputElement && target.type === "file") return;
      event.preventDefault();
      dataTransfer.dropEffect = "none";
    };
    addEventListener("dragover", refuse);
    addEventListener("drop", refuse);
    return () => {
      removeEventListener("dragover", refuse);
      removeEventListener("drop", refuse);
    };
  }, []);
}
