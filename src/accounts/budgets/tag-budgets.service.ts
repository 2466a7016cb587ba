import type { Database, Transaction } from "../../db/database.ts";
import type { WaitingClock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import { MAX_NEURON } from "../../kernel/text/amount.ts";
import { isId, newId } from "../../kernel/text/ids.ts";
import { recallAllotments } from "../allotments/recalls.store.ts";
import { awaitReturn } from "../allotments/recalls.ts";
import { openAccount } from "../ledger.store.ts";
import { faultOfTag, type Tag } from "../tags/tags.ts";
import {
  type BudgetTerms,
  countBudgetChange,
  deleteBudget,
  findBudget,
  insertBudget,
  listBudgets,
  lockBudgets,
  recountBudget,
  type TagBudget,
  updateBudget,
} from "./tag-budgets.store.ts";

export type { BudgetTerms, TagBudget } from "./tag-budgets.store.ts";

/** The most budgets of one account. */
export const MAX_TAG_BUDGETS = 1_000;

type Dependencies = {
  readonly database: Database;
  readonly clock: WaitingClock;
  readonly committed: () => void;
};

/** The budgets of an account's tags: each limits what requests with the tag spend in a period, as a key's limit does. */
export class TagBudgetsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The budgets of an account, oldest first. */
  list(account: string): Promise<readonly TagBudget[]> {
    return listBudgets(this.#dependencies.database, account);
  }

  /** The budget with this id; undefined for one that does not exist or belongs to another account. */
  async find(account: string, id: string): Promise<TagBudget | undefined> {
    return isId(id) ? findBudget(this.#dependencies.database, account, id) : undefined;
  }

  /** As `find`, but throws `tag_budget_not_found`. */
  async get(account: string, id: string): Promise<TagBudget> {
    const budget = await this.find(account, id);
    if (!budget) throw notFound();
    return budget;
  }

  /**
   * Creates a budget. What requests with the tag were charged in the current period counts as used. Resolves when every
   * process applies the budget to such requests. Throws `duplicate_tag_budget` if the tag has one,
   * `tag_budget_limit_reached` for too many, and `invalid_parameter`.
   */
  async create(
    account: string,
    {
      name,
      value,
      creditLimit,
      resetPeriod = "never",
    }: Tag & Pick<BudgetTerms, "creditLimit"> & Partial<BudgetTerms>,
  ): Promise<TagBudget> {
    checkTag({ name, value });
    checkLimit(creditLimit);
    const id = newId();
    const recalled = await this.#commit(async (tx) => {
      await openAccount(tx, account);
      const budgets = await lockBudgets(tx, account);
      if (budgets >= MAX_TAG_BUDGETS)
        throw new AppError("tag_budget_limit_reached", `An account has at most ${MAX_TAG_BUDGETS} budgets.`);
      if (!(await insertBudget(tx, account, id, { name, value, creditLimit, resetPeriod })))
        throw new AppError("duplicate_tag_budget", "This tag already has a budget.", { param: "value" });
      await countBudgetChange(tx, account);
      await recountBudget(tx, account, id);
      return recallAllotments(tx, account);
    });
    await awaitReturn(this.#dependencies.database, this.#dependencies.clock, recalled);
    return this.get(account, id);
  }

  /** Changes the given terms, from the next request on. Throws `tag_budget_not_found` and `invalid_parameter`. */
  async update(account: string, id: string, changes: Partial<BudgetTerms>): Promise<TagBudget> {
    if (changes.creditLimit !== undefined) checkLimit(changes.creditLimit);
    const before = await this.get(account, id);
    await this.#commit(async (tx) => {
      await lockBudgets(tx, account);
      if (!(await updateBudget(tx, account, before.id, changes))) throw notFound();
      if (changes.resetPeriod !== undefined) await recountBudget(tx, account, before.id);
    });
    return this.get(account, id);
  }

  /** Deletes a budget: its tag is not limited any more. Throws `tag_budget_not_found`. */
  async delete(account: string, id: string): Promise<void> {
    if (!isId(id)) throw notFound();
    await this.#commit(async (tx) => {
      await lockBudgets(tx, account);
      if (!(await deleteBudget(tx, account, id))) throw notFound();
      await countBudgetChange(tx, account);
    });
  }

  async #commit<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { database, committed } = this.#dependencies;
    const result = await database.transaction(work);
    committed();
    return result;
  }
}

function checkTag(tag: Tag): void {
  const fault = faultOfTag(tag);
  if (fault) throw new AppError("invalid_parameter", `${fault.part}: ${fault.what}`, { param: fault.part });
}

function checkLimit(creditLimit: bigint): void {
  if (creditLimit < 0n || creditLimit > MAX_NEURON)
    throw new AppError("invalid_parameter", "A credit limit must be from 0 to 2^256 - 1 neuron.", {
      param: "credit_limit",
    });
}

function notFound(): AppError {
  return new AppError("tag_budget_not_found", "There is no tag budget with this id.");
}
