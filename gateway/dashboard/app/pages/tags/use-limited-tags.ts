import type { ResultOf } from "gql.tada";
import { useMemo } from "react";
import { useWhole } from "../../data/list/use-whole.ts";
import { textOf } from "./spend-rows.ts";
import { type Budget, LIMITED_TAGS } from "./tag-queries.ts";

const EVERY_TAG = {
  query: LIMITED_TAGS,
  pick: ({ viewer }: ResultOf<typeof LIMITED_TAGS>) => viewer?.account?.tagBudgets,
};

/**
 * The tags that have a budget, as clients send them, and how to read them again; undefined while they are loaded. The
 * list of budgets has a page of them at a time: those that it shows are the newest.
 */
export function useLimitedTags(shown: readonly Budget[] | undefined) {
  const { rows, error, load } = useWhole(EVERY_TAG);
  const tags = useMemo(() => {
    if (!rows && !error) return undefined;
    return new Set([...(rows ?? []), ...(shown ?? [])].map(({ tag }) => textOf(tag)));
  }, [rows, error, shown]);
  return { tags, load };
}
