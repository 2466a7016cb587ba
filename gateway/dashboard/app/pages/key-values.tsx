import { useId, useState } from "react";
import { useQuery } from "urql";
import { bytes } from "../amounts.ts";
import { graphql } from "../graph.ts";
import { Field, Form } from "../ui/controls.tsx";
import { usePages } from "../ui/pages.tsx";
import { Card, Outcome, Table } from "../ui/show.tsx";

const VALUES = graphql(`
  query KeyValues($streamId: Hash32!, $prefixText: String, $after: Cursor) {
    kvEntries(streamId: $streamId, prefixText: $prefixText, first: 20, after: $after) {
      nodes { key keyText version sizeBytes text }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

const STREAMS = graphql("query Streams { kvStreams(first: 50) { nodes { streamId } } }");

/** Browses the keys of a key-value stream. */
export function KeyValues() {
  const pages = usePages();
  const known = useId();
  const [streams] = useQuery({ query: STREAMS });
  const [search, setSearch] = useState<{ streamId: string; prefixText: string | null }>();
  const [{ data, error, fetching }] = useQuery({
    query: VALUES,
    variables: {
      streamId: search?.streamId ?? "",
      prefixText: search?.prefixText ?? null,
      after: pages.after,
    },
    pause: !search,
  });
  return (
    <Card title="Key-value">
      <Form
        label="Browse"
        send={async (form) => {
          const streamId = String(form.get("stream")).trim();
          if (!/^0x[0-9a-fA-F]{64}$/.test(streamId)) throw new Error("A stream's id is 0x and 64 digits.");
          const prefix = String(form.get("prefix"));
          setSearch({ streamId, prefixText: prefix === "" ? null : prefix });
        }}
      >
        <Field
          label="Stream"
          name="stream"
          placeholder="0x…"
          required
          list={known}
          hint={`${streams.data?.kvStreams?.nodes.length ?? 0} streams found: press ↓ to list them.`}
        />
        <datalist id={known}>
          {streams.data?.kvStreams?.nodes.map(({ streamId }) => (
            <option key={streamId} value={streamId} />
          ))}
        </datalist>
        <Field label="Key prefix" name="prefix" />
      </Form>
      {search && (
        <Outcome rows={data?.kvEntries?.nodes} error={error} fetching={fetching} empty="No keys found.">
          {(rows) => (
            <Table label="Values" heads={["Key", "Version", "Size", "Value"]}>
              {rows.map((entry) => (
                <tr key={entry.key}>
                  <td>
                    <code>{entry.keyText ?? entry.key}</code>
                  </td>
                  <td className="number">{entry.version}</td>
                  <td className="number">{bytes(entry.sizeBytes)}</td>
                  <td>{entry.text ?? <span className="quiet">not text</span>}</td>
                </tr>
              ))}
            </Table>
          )}
        </Outcome>
      )}
      {pages.pager(data?.kvEntries?.pageInfo)}
    </Card>
  );
}
