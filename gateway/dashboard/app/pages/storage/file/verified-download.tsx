import { Button, Group } from "@mantine/core";
import Download from "lucide-react/icons/download";
import { bytes } from "../../../data/amounts.ts";
import { Failure, Note } from "../../../parts/page/states.tsx";
import { Pill } from "../../../parts/value/state-badge.tsx";
import type { Receipt } from "../worker/messages.ts";
import { doneCount, SegmentGrid, type SegmentWords } from "./segment-grid.tsx";
import { MAX_IN_MEMORY_BYTES, type Download as Running, savePicker, useDownload } from "./use-download.ts";

const WORDS: SegmentWords = {
  waiting: "waiting",
  busy: "being loaded",
  done: "verified",
  again: "loaded again",
  failed: "refused",
};

/** Downloads a file and verifies it in this browser, and shows what was checked. `name` is what it is saved as. */
export function VerifiedDownload({ receipt, name }: { receipt: Receipt; name: string }) {
  const { download, start, cancel } = useDownload(receipt, name);
  const isRunning = download?.state === "running";
  const size = receipt.parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const canWrite = savePicker() !== undefined;
  const isLarge = size > MAX_IN_MEMORY_BYTES;
  return (
    <>
      <Group gap="xs">
        <Button
          leftSection={<Download size={16} />}
          loading={isRunning}
          onClick={() => void start(isLarge && canWrite)}
        >
          Download and verify
        </Button>
        {canWrite && !isRunning && (
          <Button variant="default" onClick={() => void start(true)}>
            Save as…
          </Button>
        )}
        {isRunning && (
          <Button variant="default" onClick={cancel}>
            Cancel
          </Button>
        )}
      </Group>
      {!canWrite && isLarge && (
        <Note>
          This browser cannot write to disk as it downloads: it verifies files of up to{" "}
          {bytes(String(MAX_IN_MEMORY_BYTES))}. This one has {bytes(String(size))}.
        </Note>
      )}
      {download && <Checks of={download} receipt={receipt} name={name} />}
    </>
  );
}

function Checks({ of: download, receipt, name }: { of: Running; receipt: Receipt; name: string }) {
  const { states, state, reason, againCount } = download;
  const isSaved = state === "saved";
  const verified = states ? doneCount(states) : 0;
  const all = states?.length ?? 0;
  return (
    <>
      {states && <SegmentGrid states={states} words={WORDS} label={name} />}
      {state === "failed" && reason && <Failure reason={`${reason} Nothing was saved.`} />}
      {state === "cancelled" && <Note>Cancelled. Nothing was saved.</Note>}
      <ul className="checks" aria-label="What was checked" aria-live="polite">
        {receipt.listing && (
          <Check isDone={states !== undefined} isFailed={state === "failed" && !states} name="Folder">
            Its list of files matches the root of the folder, and has this file at its path.
          </Check>
        )}
        <Check
          isDone={all > 0 && verified === all}
          isFailed={state === "failed" && states !== undefined}
          name="Segments"
        >
          {verified.toLocaleString("en")} of {states ? all.toLocaleString("en") : "–"} segments match their
          merkle proofs{againCount > 0 && `; ${againCount} were loaded again`}.
        </Check>
        <Check isDone={isSaved} isFailed={false} name="Root">
          {isSaved
            ? "The root that was rebuilt from the segments equals "
            : "To be rebuilt from the segments: "}
          <code className="selectable">{receipt.parts.map(({ root }) => root).join(", ")}</code>
        </Check>
        <Check isDone={isSaved} isFailed={false} name="Saved">
          {isSaved ? `As ${name}.` : "Not before all of this is true."}
        </Check>
      </ul>
    </>
  );
}

function Check({
  name,
  isDone,
  isFailed,
  children,
}: {
  name: string;
  isDone: boolean;
  isFailed: boolean;
  children: React.ReactNode;
}) {
  const [tone, text] = isFailed
    ? (["bad", "refused"] as const)
    : isDone
      ? (["good", "checked"] as const)
      : (["calm", "not yet"] as const);
  return (
    <li>
      <Pill tone={tone}>{text}</Pill>
      <strong>{name}</strong>
      <span className="quiet">{children}</span>
    </li>
  );
}
