import type { Queries } from "../../db/database.ts";
import type { Bus } from "../../events/bus.ts";
import { BusListener } from "../../events/bus-listener.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Principal } from "./principal.ts";

type Dependencies = { readonly queries: Queries; readonly bus: Pick<Bus, "subscribe">; readonly log: Logger };

type Watched = {
  readonly kind: Principal["kind"];
  readonly id: string;
  readonly scopes: readonly string[];
  readonly listeners: Set<Listener>;
};
type Listener = { ended(why: AppError): void };

type EndedRow = { readonly n: number; readonly why: keyof typeof REASONS };

const CHECK_EVERY_MS = 3_000;

const REASONS = {
  api_key_revoked: "This key was revoked.",
  api_key_expired: "This key has expired.",
  session_ended: "This session has ended: sign in again.",
  insufficient_scope: "The scopes of this key were changed: connect again.",
} as const;

/**
 * Tells whoever keeps a connection open that the credential it was opened with ended: a key that was revoked, has
 * expired or lost a scope, a session that is over (promises F3b, F30). Changes are heard on the bus; every 3 s all that
 * is watched is looked up in the database, so that a missed change is late by that much at most.
 */
export class CredentialWatch {
  readonly #dependencies: Dependencies;
  readonly #watched = new Map<string, Watched>();
  readonly #changes: BusListener<"key.changed">;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  #again = false;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#changes = new BusListener({
      bus: dependencies.bus,
      topic: "key.changed",
      heard: ({ data }) => {
        if (data.change !== "created" && this.#isWatched(data.keyId)) this.#check();
      },
      lost: (error) =>
        dependencies.log.warn({ err: error }, "changes of keys are not heard; they are looked up every 3 s"),
    });
  }

  /** Calls `ended` once when the credential of `principal` ends, unless the function returned was called before. */
  watch(principal: Principal, ended: (why: AppError) => void): () => void {
    if (principal.kind === "anonymous" || this.#isStopped) return () => {};
    this.#start();
    const credential = credentialOf(principal);
    const key = JSON.stringify(credential);
    const watched = this.#watched.get(key) ?? { ...credential, listeners: new Set() };
    this.#watched.set(key, watched);
    const listener = { ended };
    watched.listeners.add(listener);
    return () => {
      watched.listeners.delete(listener);
      if (watched.listeners.size === 0 && this.#watched.get(key) === watched) this.#watched.delete(key);
    };
  }

  /** How many connections are watched. */
  get size(): number {
    return [...this.#watched.values()].reduce((sum, { listeners }) => sum + listeners.size, 0);
  }

  /** Ends the watch without a word to anybody. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#watched.clear();
    await this.#changes.stop();
    await this.#checking;
  }

  #start(): void {
    if (this.#timer) return;
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS);
    this.#changes.start();
  }

  #isWatched(keyId: string): boolean {
    return [...this.#watched.values()].some(({ id }) => id === keyId);
  }

  #check(): void {
    this.#again = true;
    this.#checking ??= this.#checkAll().finally(() => {
      this.#checking = undefined;
    });
  }

  async #checkAll(): Promise<void> {
    while (this.#again && this.#watched.size > 0) {
      this.#again = false;
      const watched = [...this.#watched.values()];
      const asked = watched.map(({ kind, id, scopes }, n) => ({ n, kind, id, scopes }));
      try {
        const ended = await this.#dependencies.queries.rows<EndedRow>(ENDED, [JSON.stringify(asked)]);
        for (const { n, why } of ended) this.#tell(watched[n], why);
      } catch (error) {
        this.#dependencies.log.error(
          { err: error },
          "the credentials of open connections could not be looked up",
        );
      }
    }
  }

  #tell(watched: Watched | undefined, why: EndedRow["why"]): void {
    for (const listener of [...(watched?.listeners ?? [])]) {
      if (!watched?.listeners.delete(listener)) continue;
      listener.ended(new AppError(why, REASONS[why]));
    }
    for (const [key, known] of this.#watched) if (known.listeners.size === 0) this.#watched.delete(key);
  }
}

function credentialOf(principal: Exclude<Principal, { kind: "anonymous" }>): Omit<Watched, "listeners"> {
  const { kind } = principal;
  if (kind === "wallet-session") return { kind, id: principal.sessionId, scopes: [] };
  return { kind, id: principal.keyId, scopes: kind === "management-key" ? [...principal.scopes].sort() : [] };
}

const ENDED = `
  with asked as (
    select * from jsonb_to_recordset($1::text::jsonb) as a(n int, kind text, id uuid, scopes jsonb)
  )
  select a.n, case when k.revoked_at is null then 'api_key_expired' else 'api_key_revoked' end as why
  from asked a join api_key k on k.id = a.id
  where a.kind = 'api-key' and (k.revoked_at is not null or k.expires_at <= now())
  union all
  select a.n, case when k.revoked_at is null then 'insufficient_scope' else 'api_key_revoked' end
  from asked a join management_key k on k.id = a.id
  where a.kind = 'management-key' and (k.revoked_at is not null or not k.scopes @> a.scopes)
  union all
  select a.n, 'session_ended'
  from asked a left join wallet_session s on s.id = a.id and s.expires_at > now()
  where a.kind = 'wallet-session' and s.id is null`;
