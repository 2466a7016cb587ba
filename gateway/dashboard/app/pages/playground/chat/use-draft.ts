import { type Dispatch, type SetStateAction, useEffect, useRef, useState } from "react";
import { readOwn, writeOwn } from "../../../data/session/own-storage.ts";
import type { Draft } from "./composer.tsx";

const NAME = "draft";
/** While the user types, it is written at most this often. */
const WRITE_AFTER_MS = 300;

/**
 * The question that is being written. This tab keeps its text: it outlasts another page, a reload, and the end of the
 * session, but not a sign-out.
 */
export function useDraft(address: string): readonly [Draft, Dispatch<SetStateAction<Draft>>] {
  const [draft, setDraft] = useState<Draft>(() => ({ text: readText(address), images: [] }));
  const { text } = draft;
  const latest = useRef(text);
  useEffect(() => {
    latest.current = text;
    const timer = setTimeout(() => keepText(address, text), WRITE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [address, text]);
  useEffect(() => {
    const keep = () => keepText(address, latest.current);
    addEventListener("pagehide", keep);
    return () => {
      removeEventListener("pagehide", keep);
      keep();
    };
  }, [address]);
  return [draft, setDraft];
}

function readText(address: string): string {
  const kept = readOwn("session", address, NAME);
  return typeof kept === "string" ? kept : "";
}

function keepText(address: string, text: string): void {
  writeOwn("session", address, NAME, text === "" ? undefined : text);
}
