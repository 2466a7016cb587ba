/** Half of the values that a body may have: a tool of two members is three values. */
const MANY = 10_500;

const each = <Item>(of: (n: number) => Item, count = MANY) => Array.from({ length: count }, (_, n) => of(n));
const named = (n: number) => ({ type: "function", name: `f${n}` });
const last = (n: number) => named(MANY - 1 - n);
const group = (name: string, ...tools: readonly object[]) => ({ type: "namespace", name, tools });
const allowed = (tools: readonly object[]) => ({ type: "allowed_tools", mode: "auto", tools });
const call = (n: number) => ({
  ...{ type: "function_call", call_id: `c${n}`, name: `f${n}` },
  ...{ arguments: "{}", namespace: "n" },
});

/** Fields of a request for a response, by what they have most of: members that refer to others, one by one. */
export const WORST_TOOLS: Readonly<Record<string, object>> = {
  "tools, all of them chosen": { tools: each(named), tool_choice: allowed(each(last)) },
  "tools of a namespace, all of them chosen": {
    tools: [group("n", ...each(named))],
    tool_choice: allowed(each(last)),
  },
  "tools of a namespace that is chosen again and again": {
    tools: [group("n", ...each(named))],
    tool_choice: allowed(each(() => ({ type: "namespace", name: "n" }))),
  },
  "tools of one name": { tools: each(() => named(0)), tool_choice: allowed(each(() => named(0))) },
  "tools of a namespace with a long name": { tools: [group("n".repeat(1_000_000), ...each(named))] },
  "tools of a namespace with a name of full length": { tools: [group("n".repeat(256), ...each(named))] },
  namespaces: { tools: each((n) => group(`n${n}`, named(n)), 8_000) },
  "tools that no chat has": { tools: each((n) => ({ type: "custom", name: `f${n}` })) },
  "calls of tools in a namespace": { tools: [group("n", ...each(named, 5_000))], input: each(call, 5_000) },
  "tools that a search has found": {
    input: [
      { role: "user", content: "a" },
      { type: "tool_search_output", tools: each(named) },
    ],
  },
};
