import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from "react";
import { createSessionKey, readSessionKey, revokeSessionKey } from "../../../data/session/session-key.ts";

/** The key that pays the requests of the playground. */
export type PlaygroundKey = {
  /** The secret; undefined until the first request. */
  readonly secret: string | undefined;
  /** Whether the user entered it. It is then in the memory of this page only. */
  readonly isEntered: boolean;
  /** How many requests were answered: what the key has spent is read again. */
  readonly answeredCount: number;
  /** The secret. Creates a session key if there is none. */
  take(): Promise<string>;
  /** Uses this key instead; undefined goes back to the session key. */
  enter(secret: string | undefined): void;
  /** Revokes the session key and creates another. */
  renew(): Promise<void>;
  countAnswer(): void;
};

const KeyContext = createContext<PlaygroundKey | undefined>(undefined);

/** Provides the key of an account's playground to its tabs. */
export function PlaygroundKeyProvider({ address, children }: { address: string; children: ReactNode }) {
  const [session, setSession] = useState(() => readSessionKey(address)?.secret);
  const [entered, setEntered] = useState<string>();
  const [answeredCount, setAnsweredCount] = useState(0);
  /** Models that answer side by side share the key that the first of them creates. */
  const creating = useRef<Promise<string>>(undefined);
  const create = useCallback(() => {
    creating.current ??= createSessionKey(address)
      .then(({ secret }) => {
        setSession(secret);
        return secret;
      })
      .finally(() => {
        creating.current = undefined;
      });
    return creating.current;
  }, [address]);
  const key = useMemo<PlaygroundKey>(
    () => ({
      secret: entered ?? session,
      isEntered: entered !== undefined,
      answeredCount,
      take: async () => entered ?? readSessionKey(address)?.secret ?? session ?? create(),
      enter: setEntered,
      async renew() {
        setEntered(undefined);
        setSession(undefined);
        // It may be revoked already: then another is what was wanted.
        await revokeSessionKey(address).catch(() => {});
        await create();
      },
      countAnswer: () => setAnsweredCount((count) => count + 1),
    }),
    [address, answeredCount, create, entered, session],
  );
  return <KeyContext value={key}>{children}</KeyContext>;
}

/** The key of the playground. */
export function usePlaygroundKey(): PlaygroundKey {
  const key = useContext(KeyContext);
  if (!key) throw new Error("usePlaygroundKey requires a PlaygroundKeyProvider");
  return key;
}
