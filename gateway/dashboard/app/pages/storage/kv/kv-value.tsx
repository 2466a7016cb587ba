import { Button, Group, SegmentedControl } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useQuery } from "urql";
import { bytes } from "../../../data/amounts.ts";
import { useFilters } from "../../../data/list/use-list.ts";
import { isAnswerTo, useShown } from "../../../data/query/answer-to.ts";
import { useChange } from "../../../data/query/use-change.ts";
import { useFollowed } from "../../../data/query/use-followed.ts";
import { useRefresh } from "../../../data/query/use-refresh.ts";
import { Pair, Pairs, Section } from "../../../parts/page/page.tsx";
import { EmptyState, Outcome } from "../../../parts/page/states.tsx";
import { Copyable } from "../../../parts/value/copyable.tsx";
import { Hash } from "../../../parts/value/hash.tsx";
import { Time } from "../../../parts/value/time.tsx";
import type { StorageSearch } from "../storage-search.ts";
import { CHANGES, VALUE, type Value } from "./kv-queries.ts";
import {
  fromBase64,
  fromCharacter,
  hexLines,
  jsonOf,
  shownKey,
  textOf,
  type ValueView,
  viewOf,
} from "./kv-text.ts";

/** The bytes of a value that are shown at a time. */
const PART_BYTES = 16_384;

type Named = { readonly streamId: string; readonly key: string; readonly version: number | undefined };

/** The value of a key, part by part, at the latest version or at an earlier one. */
export function KeyValue({ of: { streamId, key, version } }: { of: Named }) {
  const [, filter] = useFilters<StorageSearch>();
  const [wanted, setStart] = useState(0);
  const variables = {
    ...{ streamId, key, start: String(wanted), length: PART_BYTES },
    version: version === undefined ? null : String(version),
  };
  const [read, query] = useQuery({ query: VALUE, variables });
  const { data, error, fetching } = read;
  // Until the wanted part arrives, the part before is shown, with its own positions.
  const start = useShown(wanted, isAnswerTo(read, variables));
  const refetch = () => query({ requestPolicy: "network-only" });
  const refresh = useRefresh(refetch);
  // An earlier version does not change.
  const follow = { onEvent: refresh, onGap: refresh, keep: 1 };
  useFollowed(version === undefined ? CHANGES : null, { streamId }, follow);
  // Parts of two versions are not parts of one value.
  useChange(data?.kvValue?.version, () => setStart(0));
  return (
    <Section
      title="Value"
      about={<Copyable text={shownKey(key, data?.kvValue?.keyText)} label="Key" />}
      actions={
        <Button size="xs" variant="default" onClick={() => filter({ key: undefined, version: undefined })}>
          Close
        </Button>
      }
    >
      <Outcome
        value={data && (data.kvValue ?? null)}
        error={error}
        fetching={fetching}
        onRetry={refetch}
        empty={
          <EmptyState
            title={version === undefined ? "This key has no value." : "There is no earlier version."}
          >
            {version === undefined ? (
              <p>It was never written, or it is deleted.</p>
            ) : (
              <Button size="xs" variant="default" onClick={() => filter({ version: undefined })}>
                Show the latest version
              </Button>
            )}
          </EmptyState>
        }
      >
        {(value) => (
          <>
            <Facts of={value} asOf={version} onVersion={(next) => filter({ version: next })} />
            <Part key={`${value.version} ${start}`} of={value} start={start} onStart={setStart} />
          </>
        )}
      </Outcome>
    </Section>
  );
}

function Facts({
  of: { version, sizeBytes, transaction },
  asOf,
  onVersion,
}: {
  of: Value;
  asOf: number | undefined;
  onVersion(version: number | undefined): void;
}) {
  const number = Number(version);
  return (
    <Pairs>
      <Pair name="Version">
        <Group gap="xs">
          {version}
          {asOf === undefined && <span className="quiet">the latest</span>}
          <Button
            size="compact-xs"
            variant="default"
            disabled={number === 0}
            onClick={() => onVersion(number - 1)}
          >
            Earlier version
          </Button>
          {asOf !== undefined && (
            <Button size="compact-xs" variant="default" onClick={() => onVersion(undefined)}>
              Latest version
            </Button>
          )}
        </Group>
      </Pair>
      <Pair name="Size">{bytes(sizeBytes)}</Pair>
      {transaction && (
        <>
          <Pair name="Written">
            <Time at={transaction.decidedAt} /> by <Hash of={transaction.sender.address} withCopy />
          </Pair>
          {transaction.file && (
            <Pair name="In the file">
              <Link to="/storage/$root" params={{ root: transaction.file.root }}>
                <Hash of={transaction.file.root} />
              </Link>
            </Pair>
          )}
        </>
      )}
    </Pairs>
  );
}

function Part({
  of: { base64, sizeBytes },
  start,
  onStart,
}: {
  of: Value;
  start: number;
  onStart(start: number): void;
}) {
  const size = Number(sizeBytes);
  const part = fromBase64(base64 ?? "");
  const end = start + part.length;
  const isCut = end < size;
  const best = start === 0 ? viewOf(part, isCut) : "text";
  const text = textOf(start > 0 ? fromCharacter(part) : part, isCut);
  const json = text !== undefined && start === 0 && !isCut ? jsonOf(text) : undefined;
  const [chosen, setChosen] = useState<ValueView>();
  const wanted = chosen ?? best;
  const view =
    (wanted === "json" && json === undefined) || (wanted === "text" && text === undefined) ? "hex" : wanted;
  const shown = { text: text ?? "", json: json ?? "", hex: hexLines(part, start) }[view];
  return (
    <div className="kv-value page-body">
      <Group justify="space-between" gap="xs">
        <SegmentedControl
          size="xs"
          aria-label="Show the value as"
          value={view}
          onChange={(next) => setChosen(next as ValueView)}
          data={[
            { value: "text", label: "Text", disabled: text === undefined },
            { value: "json", label: "JSON", disabled: json === undefined },
            { value: "hex", label: "Hex" },
          ]}
        />
        {size > PART_BYTES && (
          <Group gap="xs">
            <span className="quiet">
              Bytes {start.toLocaleString("en")} to {(end - 1).toLocaleString("en")} of{" "}
              {size.toLocaleString("en")}
            </span>
            <Button
              size="compact-sm"
              variant="default"
              disabled={start === 0}
              onClick={() => onStart(Math.max(0, start - PART_BYTES))}
            >
              Before
            </Button>
            <Button size="compact-sm" variant="default" disabled={!isCut} onClick={() => onStart(end)}>
              Next
            </Button>
          </Group>
        )}
      </Group>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it. */}
      <section className="kv-bytes" aria-label="The value" tabIndex={0}>
        <pre>{shown}</pre>
      </section>
    </div>
  );
}
