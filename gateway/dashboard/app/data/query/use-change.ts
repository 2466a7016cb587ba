import { useEffect, useRef } from "react";

/** Calls back when a value is another one than before; undefined is not known yet, and changes nothing. */
export function useChange(value: string | undefined, onChange: () => void): void {
  const before = useRef<string>(undefined);
  useEffect(() => {
    if (value === undefined || value === before.current) return;
    const isFirst = before.current === undefined;
    before.current = value;
    if (!isFirst) onChange();
  }, [value, onChange]);
}
