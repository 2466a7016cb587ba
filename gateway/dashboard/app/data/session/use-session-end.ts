import { type RefObject, useEffect, useRef, useState } from "react";
import { client, graphql, isAnonymous, isSessionEnded } from "../query/graph.ts";
import { endOthers, endOwn } from "./own-storage.ts";
import { isReloading, noteEnded, onOtherTab, onRefusal, onShownAgain, reloadEnded } from "./session-watch.ts";

/** Apart from the query of what is shown, so that an answer that fails does not replace it. */
const PRESENT = graphql("query PresentSession { viewer { account { address } } }");

/**
 * Whether the session of `address` is over: it has ended, or another tab signed out, or in as another account. The page
 * is then loaded again. `onSignIn` is called when another tab signs in while there is no session. While `isLeaving`, this
 * tab is signing out itself.
 */
export function useSessionEnd(
  address: string | null | undefined,
  isLeaving: RefObject<boolean>,
  onSignIn: () => void,
): boolean {
  const [isOver, setOver] = useState(false);
  const signedIn = useRef(onSignIn);
  useEffect(() => {
    signedIn.current = onSignIn;
  });
  useEffect(() => {
    if (address === undefined) return;
    if (address === null) return onOtherTab((change) => change === "signed-in" && signedIn.current());
    noteEnded(false);
    let isAsking = false;
    const ask = async () => {
      if (isAsking || isLeaving.current) return;
      isAsking = true;
      const present = await presentAddress();
      isAsking = false;
      if (present === undefined || present === address || isLeaving.current) return;
      if (present) endOthers(present);
      setOver(true);
    };
    const stop = onRefusal(() => void ask());
    // A page that was left at a sign-out still has the data of the account; another may have missed one meanwhile.
    const ignore = onShownAgain(() => (isReloading() ? location.reload() : void ask()));
    const close = onOtherTab((change) => {
      if (change === "signed-in") return void ask();
      endOwn();
      setOver(true);
    });
    return () => {
      stop();
      ignore();
      close();
    };
  }, [address, isLeaving]);
  useEffect(() => {
    if (isOver) reloadEnded();
  }, [isOver]);
  return isOver;
}

/** The account of the session: null if there is none or it has ended, undefined if the gateway does not say. */
async function presentAddress(): Promise<string | null | undefined> {
  const { data, error } = await client.query(PRESENT, {}, { requestPolicy: "network-only" }).toPromise();
  if (error) return isSessionEnded(error) || isAnonymous(error) ? null : undefined;
  return data?.viewer?.account?.address ?? null;
}
