import QuickLru from "quick-lru";
import type { Queries } from "../../db/database.ts";
import { TransientMap } from "../../kernel/transient-map.ts";
import type { Tags } from "../tags/tags.ts";
import { readBudgetTags } from "./tag-budgets.store.ts";

/** What a process knows of the budgets of an account: their version, and the tags that have one. */
export type AccountBudgets = { readonly version: number; has(tags: Tags): boolean };

/** The number of accounts with budgets that are cached. */
const MAX_ACCOUNTS = 1_000;
/** How long budgets are cached. Until a deleted one expires, requests with its tag use no allotment. */
const MAX_AGE_MS = 60_000;

const NONE: AccountBudgets = { version: 0, has: () => false };

/**
 * Which tags of accounts have budgets, as this process last read them. Before the first read, an account is taken to
 * have none. This may be outdated, so an admission states its version, and is refused if that version is outdated.
 */
export class KnownBudgets {
  readonly #queries: Queries;
  readonly #accounts = new QuickLru<string, AccountBudgets>({
    maxSize: MAX_ACCOUNTS,
    maxAge: MAX_AGE_MS,
  });
  readonly #reads = new TransientMap<string, Promise<void>>();

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  of(account: string): AccountBudgets {
    return this.#accounts.get(account) ?? NONE;
  }

  /** Reads the budgets of an account again; callers that need it at the same time share one read. */
  refresh(account: string): Promise<void> {
    const current = this.#reads.get(account);
    if (current) return current;
    const read = this.#read(account).finally(() => this.#reads.delete(account));
    this.#reads.set(account, read);
    return read;
  }

  async #read(account: string): Promise<void> {
    const { version, tags } = await readBudgetTags(this.#queries, account);
    const keys = new Set(tags.map(({ name, value }) => keyOf(name, value)));
    this.#accounts.set(account, {
      version,
      has: (others) => Object.entries(others).some(([name, value]) => keys.has(keyOf(name, value))),
    });
  }
}

/** No tag has a control character. */
const keyOf = (name: string, value: string) => `${name}\n${value}`;
