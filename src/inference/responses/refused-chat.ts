import { ProviderRefusal } from "../providers/exchange/provider-failure.ts";

/** The fields of a response by the field of the chat that is made of them. Their parts have other places there. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ["messages", "input"],
  ["tools", "tools"],
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["response_format", "text.format"],
  ["reasoning_effort", "reasoning.effort"],
  ["verbosity", "text.verbosity"],
]);

/** A failure of a chat that is the translation of a response: a field that the provider names is the client's own. */
export function asOfResponse(error: unknown): unknown {
  if (!(error instanceof ProviderRefusal) || error.param === null) return error;
  const [field = ""] = error.param.split(".", 1);
  const own = FIELDS.get(field);
  return own === undefined ? error : new ProviderRefusal(error.reason, own);
}
