import { useCallback, useEffect, useRef, useState } from "react";
import { reasonOf } from "./query/graph.ts";
import { toastFailure, toastSuccess } from "./toast.ts";

type Toasts<Result> = {
  /** What is said after a success; nothing without it. */
  readonly done?: string | ((result: Result) => string);
};

/** An action of the user, such as a mutation. */
export type Action = {
  /** Runs it, unless it is running. Resolves to whether it succeeded. */
  run(): Promise<boolean>;
  readonly isBusy: boolean;
};

/** Runs an action once at a time, and says in a toast that it succeeded, or why it failed. */
export function useAction<Result>(act: () => Promise<Result>, { done }: Toasts<Result> = {}): Action {
  const [isBusy, setBusy] = useState(false);
  const isRunning = useRef(false);
  const latest = useRef({ act, done });
  useEffect(() => {
    latest.current = { act, done };
  });
  const run = useCallback(async () => {
    if (isRunning.current) return false;
    isRunning.current = true;
    setBusy(true);
    try {
      const result = await latest.current.act();
      const said = latest.current.done;
      if (said !== undefined) toastSuccess(typeof said === "string" ? said : said(result));
      return true;
    } catch (error) {
      toastFailure(reasonOf(error));
      return false;
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  }, []);
  return { run, isBusy };
}
