import type { Queries } from "../../db/database.ts";
import type { Bus } from "../../events/bus.ts";
import { BusListener } from "../../events/bus-listener.ts";
import { forEachInTurns } from "../../kernel/async/shared-turns.ts";
import type { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { detached } from "../../kernel/tracing.ts";
import { type CredentialEnd, credentialEnded } from "./ended-credential.ts";
import type { Principal } from "./principal.ts";

type Dependencies = { readonly queries: Queries; readonly bus: Pick<Bus, "subscribe">; readonly log: Logger };

type Watched = {
  readonly key: string;
  readonly kind: Principal["kind"];
  readonly id: string;
  readonly scopes: readonly string[];
  readonly listeners: Set<Listener>;
};
type Listener = { ended(why: AppError): void; readonly isLast: boolean };

type EndedRow = { readonly n: number; readonly why: CredentialEnd };

const CHECK_EVERY_MS = 3_000;

/**
 * Notifies open connections when their credential ends: a key was revoked, has expired or lost a scope, or a session
 * has ended (promises F3b, F30). Changes are received on the bus; every 3 s all watched credentials are also looked up
 * in the database, so that a missed change is at most that late.
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
      onEvent: ({ data }) => {
        if (data.change !== "created" && this.#isWatched(data.keyId)) this.#check();
      },
      onLost: (error) =>
        dependencies.log.warn(
          { err: error },
          "key changes are not received; credentials are looked up every 3 s",
        ),
    });
  }

  /**
   * Calls `ended` once when the credential of `principal` ends, unless the returned function was called before. With
   * `isLast`, those of the credential without it are called before.
   */
  watch(principal: Principal, ended: (why: AppError) => void, { isLast = false } = {}): () => void {
    if (principal.kind === "anonymous" || this.#isStopped) return () => {};
    this.#start();
    const credential = credentialOf(principal);
    const key = JSON.stringify(credential);
    const watched = this.#watched.get(key) ?? { key, ...credential, listeners: new Set() };
    this.#watched.set(key, watched);
    const listener = { ended, isLast };
    watched.listeners.add(listener);
    return () => {
      watched.listeners.delete(listener);
      if (watched.listeners.size === 0 && this.#watched.get(key) === watched) this.#watched.delete(key);
    };
  }

  /** The number of watched connections. */
  get size(): number {
    return [...this.#watched.values()].reduce((sum, { listeners }) => sum + listeners.size, 0);
  }

  /** Stops watching without calling any listener. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#watched.clear();
    await this.#changes.stop();
    await this.#checking;
  }

  #start(): void {
    if (this.#timer) return;
    this.#timer = detached(() => setInterval(() => this.#check(), CHECK_EVERY_MS));
    this.#changes.start();
  }

  #isWatched(keyId: string): boolean {
    return [...this.#watched.values()].some(({ id }) => id === keyId);
  }

  #check(): void {
    this.#again = true;
    this.#checking ??= detached(() => this.#checkAll()).finally(() => {
      this.#checking = undefined;
    });
  }

  async #checkAll(): Promise<void> {
    while (this.#again && this.#watched.size > 0) {
      this.#again = false;
      const watched = [...this.#watched.values()];
      const requested = watched.map(({ kind, id, scopes }, n) => ({ n, kind, id, scopes }));
      try {
        const ended = await this.#dependencies.queries.rows<EndedRow>(ENDED, [JSON.stringify(requested)]);
        for (const { n, why } of ended) await this.#notify(watched[n], why);
      } catch (error) {
        this.#dependencies.log.error(
          { err: error },
          "the credentials of open connections could not be looked up",
        );
      }
    }
  }

  async #notify(watched: Watched | undefined, why: EndedRow["why"]): Promise<void> {
    if (!watched) return;
    const { key, listeners } = watched;
    const ordered = [...listeners].sort((one, other) => Number(one.isLast) - Number(other.isLast));
    await forEachInTurns(ordered, (listener) => {
      // It may have left, and the process may have begun to end, in an earlier turn.
      if (!this.#isStopped && listeners.delete(listener)) listener.ended(credentialEnded(why));
    });
    if (listeners.size === 0 && this.#watched.get(key) === watched) this.#watched.delete(key);
  }
}

function credentialOf(
  principal: Exclude<Principal, { kind: "anonymous" }>,
): Omit<Watched, "key" | "listeners"> {
  const { kind } = principal;
  if (kind === "wallet-session") return { kind, id: principal.sessionId, scopes: [] };
  return { kind, id: principal.keyId, scopes: kind === "management-key" ? [...principal.scopes].sort() : [] };
}

const ENDED = `
  with requested as (
    select * from jsonb_to_recordset($1::text::jsonb) as a(n int, kind text, id uuid, scopes jsonb)
  )
  select a.n, case when k.revoked_at is null then 'api_key_expired' else 'api_key_revoked' end as why
  from requested a join api_key k on k.id = a.id
  where a.kind = 'api-key' and (k.revoked_at is not null or k.expires_at <= now())
  union all
  select a.n, case when k.revoked_at is null then 'insufficient_scope' else 'api_key_revoked' end
  from requested a join management_key k on k.id = a.id
  where a.kind = 'management-key' and (k.revoked_at is not null or not k.scopes @> a.scopes)
  union all
  select a.n, 'session_ended'
  from requested a left join wallet_session s on s.id = a.id and s.expires_at > now()
  where a.kind = 'wallet-session' and s.id is null`;
