import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import * as z from "zod/mini";
import { readOwn, writeOwn } from "../../../data/session/own-storage.ts";
import { MAX_COLUMNS } from "./conversation.ts";

const NAME = "models";
const schema = z.array(z.string()).check(z.maxLength(MAX_COLUMNS));
const route = getRouteApi("/playground");

/** The selected models: `model` of the URL, else those that this browser kept, else the first one. */
export function useModelChoice(
  address: string,
  all: readonly string[],
): readonly [readonly string[], (chosen: readonly string[]) => void] {
  const { model } = route.useSearch();
  const [chosen, setChosen] = useState<readonly string[]>(() => {
    if (model !== undefined && all.includes(model)) return [model];
    const kept = z.safeParse(schema, readOwn("local", address, NAME)).data ?? [];
    const offered = kept.filter((id) => all.includes(id));
    return offered.length > 0 ? offered : all.slice(0, 1);
  });
  const choose = (next: readonly string[]) => {
    setChosen(next);
    writeOwn("local", address, NAME, next);
  };
  return [chosen, choose];
}
