import { useId, useState } from "react";
import { useQuery } from "urql";
import * as z from "zod";
import { bytes } from "../../data/amounts.ts";
import { graphql } from "../../data/graph.ts";
import { useList } from "../../data/use-list.ts";
import type { Column } from "../../parts/column.ts";
import { TextField } from "../../parts/fields.tsx";
import { GraphForm } from "../../parts/form.tsx";
import { ListTable } from "../../parts/list-table.tsx";
import { Section } from "../../parts/page.tsx";

const VALUES = graphql(`
  query KeyValues($streamId: Hash32!, $prefixText: String, $first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    kvEntries(streamId: $streamId, prefixText: $prefixText, first: $first, last: $last, after: $after, before: $before) {
      nodes { key keyText version sizeBytes text }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);

const STREAMS = graphql("query Streams { kvStreams(first: 50) { nodes { streamId } } }");

const schema = z.object({
  streamId: z
    .string()
    .trim()
    .regex(/^0x[0-9a-fA-F]{64}$/, "A stream's id is 0x and 64 digits."),
  prefixText: z.string().transform((text) => (text === "" ? null : text)),
});

/** Browses the keys of a key-value stream. */
export function KeyValues() {
  const known = useId();
  const [streams] = useQuery({ query: STREAMS });
  const [search, setSearch] = useState<z.output<typeof schema>>();
  const nodes = streams.data?.kvStreams?.nodes ?? [];
  return (
    <Section title="Key-value">
      <GraphForm
        label="Browse"
        schema={schema}
        defaultValues={{ streamId: "", prefixText: "" }}
        send={async (wanted) => setSearch(wanted)}
      >
        <TextField
          label="Stream"
          name="streamId"
          placeholder="0x…"
          required
          list={known}
          hint={`${nodes.length} streams found: press ↓ to list them.`}
        />
        <datalist id={known}>
          {nodes.map(({ streamId }) => (
            <option key={streamId} value={streamId} />
          ))}
        </datalist>
        <TextField label="Key prefix" name="prefixText" />
      </GraphForm>
      {search && <Values key={JSON.stringify(search)} of={search} />}
    </Section>
  );
}

type Entry = {
  readonly key: string;
  readonly keyText: string | null;
  readonly version: string | number;
  readonly sizeBytes: string;
  readonly text: string | null;
};

const COLUMNS: readonly Column<Entry>[] = [
  { id: "key", name: "Key", cell: ({ key, keyText }) => <code>{keyText ?? key}</code> },
  { id: "version", name: "Version", isNumber: true, cell: ({ version }) => version },
  { id: "size", name: "Size", isNumber: true, cell: ({ sizeBytes }) => bytes(sizeBytes) },
  { id: "value", name: "Value", cell: ({ text }) => text ?? <span className="quiet">not text</span> },
];

function Values({ of }: { of: z.output<typeof schema> }) {
  const list = useList({ query: VALUES, variables: of, pick: ({ kvEntries }) => kvEntries, isLocal: true });
  return (
    <ListTable label="Values" list={list} columns={COLUMNS} keyOf={({ key }) => key} empty="No keys found." />
  );
}
