import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { bytes } from "../../../data/amounts.ts";
import { useFilters, useList } from "../../../data/list/use-list.ts";
import { Section } from "../../../parts/page/page.tsx";
import { EmptyState } from "../../../parts/page/states.tsx";
import type { Column } from "../../../parts/table/column.ts";
import { ListTable } from "../../../parts/table/list-table.tsx";
import { Copyable } from "../../../parts/value/copyable.tsx";
import { Live } from "../../../parts/value/state-badge.tsx";
import { FindForm } from "../find-form.tsx";
import type { StorageSearch } from "../storage-search.ts";
import { CHANGES, KEYS, type Key } from "./kv-queries.ts";
import { bytesOfText, fromBase64, shownKey, textOf, toHex } from "./kv-text.ts";

/** The longest key that a link names, in bytes. */
const MAX_LINKED_KEY_BYTES = 1_024;

const COLUMNS: readonly Column<Key>[] = [
  {
    id: "key",
    name: "Key",
    cell: ({ key, keyText }) => <code className="kv-key">{shownKey(key, keyText)}</code>,
  },
  { id: "version", name: "Version", isNumber: true, cell: ({ version }) => version },
  { id: "size", name: "Size", isNumber: true, cell: ({ sizeBytes }) => bytes(sizeBytes) },
  {
    id: "value",
    name: "Value",
    cell: ({ head, sizeBytes }) => (
      <code className="kv-key">{beginningOf(head ?? "", Number(sizeBytes))}</code>
    ),
  },
];

/** The keys of a stream in byte order, live; of a prefix if one is given. */
export function KvKeys({ of: streamId }: { of: string }) {
  const [{ prefix }, filter] = useFilters<StorageSearch>();
  const list = useList({
    query: KEYS,
    variables: { streamId, prefixText: prefix || null },
    pick: ({ kvEntries }) => kvEntries,
    changes: CHANGES,
    changeVariables: { streamId },
  });
  return (
    <Section
      title="Keys"
      about={<Copyable text={streamId} label="Stream" />}
      actions={
        <>
          {list.liveness && <Live liveness={list.liveness} />}
          <Link to="/storage" search={{ tab: "values" }}>
            All streams
          </Link>
        </>
      }
      isFlush
    >
      <div className="row-of-controls">
        <FindForm
          label="Keys that start with"
          button="Filter"
          value={prefix ?? ""}
          faultOf={keyFault}
          onFind={(text) => filter({ prefix: text || undefined })}
        />
        <FindForm
          label="Open a key"
          button="Open key"
          placeholder="text, or 0x and its bytes"
          faultOf={(text) => (text === "" ? "Enter a key." : keyFault(text))}
          onFind={(text) => filter({ key: toKey(text), version: undefined })}
        />
      </div>
      <ListTable
        label="Keys"
        list={list}
        columns={COLUMNS}
        keyOf={({ key }) => key}
        link={({ key }) =>
          key.length <= 2 + 2 * MAX_LINKED_KEY_BYTES
            ? { to: "/storage", search: (now: object) => ({ ...now, key, version: undefined }) as never }
            : undefined
        }
        empty={
          prefix ? (
            <EmptyState title="No key starts with this text.">
              <Button size="xs" variant="default" onClick={() => filter({ prefix: undefined })}>
                Show all keys
              </Button>
            </EmptyState>
          ) : (
            <EmptyState title="This stream has no keys.">
              <p>Nothing was written to it, or this gateway does not hold it.</p>
            </EmptyState>
          )
        }
      />
    </Section>
  );
}

/** The bytes of a key as entered: those that are named after 0x, or those of the text. */
function toKey(text: string): string {
  return /^0x([0-9a-fA-F]{2})+$/.test(text) ? text.toLowerCase() : toHex(bytesOfText(text));
}

/** The beginning of a value: text if it is, else its bytes. */
function beginningOf(head: string, sizeBytes: number): string {
  const bytesOfHead = fromBase64(head);
  return textOf(bytesOfHead, bytesOfHead.length < sizeBytes) ?? toHex(bytesOfHead);
}

function keyFault(text: string): string | undefined {
  if (bytesOfText(text).length <= MAX_LINKED_KEY_BYTES) return undefined;
  return `Up to ${MAX_LINKED_KEY_BYTES.toLocaleString("en")} bytes.`;
}
