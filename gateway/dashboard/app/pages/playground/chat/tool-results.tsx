import * as z from "zod";
import { LongTextField } from "../../../parts/form/fields.tsx";
import { GraphForm } from "../../../parts/form/form.tsx";
import { PlainText } from "../markdown/plain-text.tsx";
import type { ToolCall, ToolResults } from "./conversation.ts";

const MAX_RESULT = 100_000;

/** Asks for what the tools return that a model called. */
export function ToolResultForm({
  calls,
  onSend,
}: {
  calls: readonly ToolCall[];
  onSend(results: ToolResults): void;
}) {
  const names = calls.map((_, n) => `result${n}`);
  const schema = z.record(z.string(), z.string().max(MAX_RESULT, "At most 100,000 characters."));
  return (
    <GraphForm
      label={calls.length > 1 ? "Send the results" : "Send the result"}
      schema={schema}
      defaultValues={Object.fromEntries(names.map((name) => [name, ""]))}
      send={async (values) => {
        const results = calls.map(({ id, name }, n) => ({ id, name, content: values[`result${n}`] ?? "" }));
        onSend({ kind: "results", results });
      }}
    >
      {calls.map(({ id, name }, n) => (
        <LongTextField
          key={`${id}${names[n]}`}
          label={`Result of ${name}`}
          name={names[n] ?? ""}
          rows={2}
          placeholder='{"celsius": 21}'
        />
      ))}
    </GraphForm>
  );
}

/** Results that were sent. */
export function ToolResultView({ of }: { of: ToolResults }) {
  return of.results.map(({ id, name, content }, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a provider may send calls without ids.
    <div key={`${id}${n}`} className="tool-call">
      <p>
        You returned from <code>{name}</code>
      </p>
      <PlainText isCode text={content || "(nothing)"} />
    </div>
  ));
}
