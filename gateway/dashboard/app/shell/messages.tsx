import WifiOff from "lucide-react/icons/wifi-off";
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { loadAgain } from "../data/query/fetch-again.ts";
import { onFirstToast } from "../data/toast.ts";

const Toasts = lazy(async () => ({
  default: await loadAgain(async () => (await import("./toasts.tsx")).Toasts),
}));

/** The toasts, and a banner while the browser has no network. */
export function Messages() {
  const isOnline = useSyncExternalStore(watchNetwork, () => navigator.onLine);
  const [hasToasts, setHasToasts] = useState(false);
  useEffect(() => onFirstToast(() => setHasToasts(true)), []);
  return (
    <>
      <div role="status" className={isOnline ? undefined : "offline"}>
        {!isOnline && (
          <>
            <WifiOff size={16} aria-hidden="true" /> You are offline. What you see may be out of date; it is
            refreshed when the network is back.
          </>
        )}
      </div>
      {hasToasts && (
        <Suspense>
          <Toasts />
        </Suspense>
      )}
    </>
  );
}

function watchNetwork(onChange: () => void): () => void {
  addEventListener("online", onChange);
  addEventListener("offline", onChange);
  return () => {
    removeEventListener("online", onChange);
    removeEventListener("offline", onChange);
  };
}
