import { createClient, type TypedDocument, ZerographError } from "@zerograph/client";
import {
  useBalance,
  useConnection,
  useImageJob,
  useLive,
  usePublishedSealedKey,
  ZerographProvider,
} from "@zerograph/client/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

type KeysData = { readonly keyChanged: { readonly id: string; readonly keyId: string } };

const KEYS: TypedDocument<KeysData, { after?: string }> =
  "subscription Keys($after: Cursor) { keyChanged(after: $after) { id cursor at keyId } }";
const EVENTS = 2_000;

/** What the test reads: each call of `onEvent`, and each list that was rendered. */
const seen: string[] = [];
const renders: number[] = [];
Object.assign(globalThis, { seen, renders });

function Keys() {
  const { events, state } = useLive(
    KEYS,
    {},
    { keep: EVENTS, onEvent: ({ keyChanged }) => seen.push(keyChanged.keyId) },
  );
  renders.push(events.length);
  return (
    <section aria-label="Keys">
      <p role="status">{state}</p>
      <ol>
        {events.map(({ keyChanged }) => (
          <li key={keyChanged.id}>{keyChanged.keyId}</li>
        ))}
      </ol>
    </section>
  );
}

/** Other errors are those of the app's own `credential`. */
function codeOf(error: Error | undefined): string {
  return error instanceof ZerographError ? error.code : "";
}

function Balance() {
  const { balance, state, error } = useBalance();
  return <output aria-label="Balance">{`${state} ${balance?.available ?? "?"} ${codeOf(error)}`}</output>;
}

function SealedKeys({ to }: { readonly to: string }) {
  const { keys, state } = usePublishedSealedKey({ to });
  return <output aria-label="Sealed keys">{`${state} ${keys.map(({ id }) => id).join(",")}`}</output>;
}

function Job({ id }: { readonly id: string | null }) {
  const { status, images, isDone, steps, error } = useImageJob(id);
  const order = steps.map(({ sequence }) => sequence).join(",");
  return <output aria-label="Job">{`${status} ${images.length} ${isDone} ${order} ${codeOf(error)}`}</output>;
}

function App() {
  const query = new URLSearchParams(location.search);
  const [isShown, setIsShown] = useState(true);
  const connection = useConnection();
  return (
    <main>
      <output aria-label="Connection">{connection}</output>
      <button type="button" onClick={() => setIsShown(!isShown)}>
        Toggle
      </button>
      {isShown && <Keys />}
      {query.has("balance") && <Balance />}
      {query.has("to") && <SealedKeys to={query.get("to") ?? ""} />}
      {query.has("job") && <Job id={query.get("job")} />}
    </main>
  );
}

const client = createClient({
  url: location.origin,
  subscriptions: { retry: { minPauseMs: 20, maxPauseMs: 500 } },
});
const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <ZerographProvider client={client}>
        <App />
      </ZerographProvider>
    </StrictMode>,
  );
