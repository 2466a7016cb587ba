import { Button, Progress } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { memo } from "react";
import { bytes } from "../../../data/amounts.ts";
import { Amount } from "../../../parts/value/amount.tsx";
import { Hash } from "../../../parts/value/hash.tsx";
import { Pill } from "../../../parts/value/state-badge.tsx";
import { SegmentGrid, type SegmentWords } from "../file/segment-grid.tsx";
import { isOver, type Upload, type UploadState, uploadQueue } from "./upload-queue.ts";

const WORDS: SegmentWords = {
  waiting: "waiting",
  busy: "being sent",
  done: "stored",
  again: "sent again",
  failed: "failed",
};

const STATES: Readonly<Record<UploadState, readonly [text: string, tone: "good" | "bad" | "busy" | "calm"]>> =
  {
    waiting: ["waiting", "calm"],
    hashing: ["hashing", "busy"],
    paying: ["submitting to the chain", "busy"],
    sending: ["sending", "busy"],
    stored: ["stored", "good"],
    failed: ["failed", "bad"],
    cancelled: ["cancelled", "calm"],
  };

/** An upload: how far it is, and what can be done about it. It is rendered again only when it changes. */
export const UploadRow = memo(function UploadRow({ of: upload }: { of: Upload }) {
  const { name, sizeBytes, state, root, segments, folder, fee, reason } = upload;
  const [text, tone] = STATES[state];
  return (
    <li className={folder && !folder.isManifest ? "upload inside" : "upload"}>
      <div className="upload-head">
        <span className="upload-name" title={name}>
          {name}
        </span>
        <span className="quiet">
          {folder?.isManifest
            ? "the folder's list of files"
            : sizeBytes !== undefined && bytes(String(sizeBytes))}
        </span>
        <Pill tone={tone}>{text}</Pill>
        <span className="upload-actions">
          {state === "stored" && root && (
            <Link to="/storage/$root" params={{ root }}>
              {folder?.isManifest ? "Open folder" : "View file"}
            </Link>
          )}
          <Actions of={upload} />
        </span>
      </div>
      {state === "hashing" && <Hashing of={upload} />}
      {segments && state !== "waiting" && state !== "hashing" && (
        <SegmentGrid states={segments.states} words={WORDS} label={name} />
      )}
      {segments && segments.againCount > 0 && (
        <p className="quiet">Sent again after a failure: {segments.againCount.toLocaleString("en")}</p>
      )}
      {reason && <p className={state === "failed" ? "bad-text" : "quiet"}>{reason}</p>}
      {state === "stored" && root && (
        <p className="quiet">
          Root <Hash of={root} withCopy />
          {fee !== undefined && (
            <>
              , fee <Amount neuron={fee} />
            </>
          )}
        </p>
      )}
    </li>
  );
});

function Actions({ of: upload }: { of: Upload }) {
  const { id, name, state } = upload;
  if (!isOver(upload))
    return (
      <Button
        size="compact-sm"
        variant="default"
        aria-label={`Cancel ${name}`}
        onClick={() => uploadQueue.cancel(id)}
      >
        Cancel
      </Button>
    );
  if (state === "stored") return null;
  return (
    <Button
      size="compact-sm"
      variant="default"
      aria-label={`Try ${name} again`}
      onClick={() => uploadQueue.retry(id)}
    >
      Try again
    </Button>
  );
}

function Hashing({ of: { name, sizeBytes = 0, hashedBytes } }: { of: Upload }) {
  return (
    <Progress
      size="sm"
      value={sizeBytes > 0 ? (hashedBytes / sizeBytes) * 100 : 0}
      aria-label={`${name}: hashed`}
    />
  );
}
