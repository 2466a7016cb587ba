import { useFilters } from "../../../data/list/use-list.ts";
import type { StorageSearch } from "../storage-search.ts";
import { KvKeys } from "./kv-keys.tsx";
import { KvStreams } from "./kv-streams.tsx";
import { KeyValue } from "./kv-value.tsx";

/** Browses key-value streams: the streams, the keys of one, and the value of a key. */
export function KeyValues() {
  const [{ stream, key, version }] = useFilters<StorageSearch>();
  if (!stream) return <KvStreams />;
  return (
    <>
      {key && <KeyValue key={`${key} ${version}`} of={{ streamId: stream, key, version }} />}
      <KvKeys key={stream} of={stream} />
    </>
  );
}
