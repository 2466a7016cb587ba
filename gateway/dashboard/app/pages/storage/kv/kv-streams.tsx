import { useFilters, useList } from "../../../data/list/use-list.ts";
import { Section } from "../../../parts/page/page.tsx";
import { EmptyState } from "../../../parts/page/states.tsx";
import type { Column } from "../../../parts/table/column.ts";
import { ListTable } from "../../../parts/table/list-table.tsx";
import { FindForm, hash32Fault } from "../find-form.tsx";
import type { StorageSearch } from "../storage-search.ts";
import { STREAMS, type Stream } from "./kv-queries.ts";

const COLUMNS: readonly Column<Stream>[] = [
  {
    id: "stream",
    name: "Stream",
    cell: ({ streamId }) => <code>{streamId}</code>,
    text: ({ streamId }) => streamId,
  },
  { id: "first", name: "First version", isNumber: true, cell: ({ firstVersion }) => firstVersion },
  {
    id: "keys",
    name: "Keys",
    cell: ({ entries }) =>
      entries && entries.nodes.length > 0 ? "some" : <span className="quiet">none</span>,
  },
];

/** The streams that this gateway holds. */
export function KvStreams() {
  const [, filter] = useFilters<StorageSearch>();
  const list = useList({ query: STREAMS, pick: ({ kvStreams }) => kvStreams });
  return (
    <Section
      title="Streams"
      about="A stream is a set of keys with values. Each write is a file on the network, whose sequence number is the version of what it wrote."
      isFlush
    >
      <div className="row-of-controls">
        <FindForm
          label="Open a stream by its id"
          button="Open"
          placeholder="0x…"
          faultOf={(id) => hash32Fault(id, "A stream's id")}
          onFind={(id) => filter({ stream: id.trim() })}
        />
      </div>
      <ListTable
        label="Streams"
        list={list}
        columns={COLUMNS}
        keyOf={({ streamId }) => streamId}
        link={({ streamId }) => ({ to: "/storage", search: { tab: "values", stream: streamId } })}
        empty={
          <EmptyState title="No streams yet.">
            <p>
              A stream appears with its first write: prepare one with <code>prepareKvWrite</code> of the
              graph, or with the storage SDK's key-value client, whose URL is this origin.
            </p>
          </EmptyState>
        }
      />
    </Section>
  );
}
