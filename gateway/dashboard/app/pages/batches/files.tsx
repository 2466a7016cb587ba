import { Button, Group } from "@mantine/core";
import { useMemo, useState } from "react";
import { bytes } from "../../data/amounts.ts";
import { ConfirmDialog } from "../../parts/form/dialog.tsx";
import { EmptyState, Failure } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { DataTable } from "../../parts/table/data-table.tsx";
import { ClockTime } from "../../parts/value/clock-time.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { Time } from "../../parts/value/time.tsx";
import { type ClientFile, deleteClientFile, useClientFiles } from "./client-files.ts";
import { contentUrl } from "./file-link.tsx";

/** The files that batches read and write. */
export function Files() {
  const { files, failure, refetch, more, remove } = useClientFiles();
  const [deleted, setDeleted] = useState<ClientFile>();
  const columns = useMemo(() => columnsOf(setDeleted), []);
  if (failure !== undefined && !files) return <Failure reason={failure} onRetry={refetch} />;
  return (
    <>
      {failure !== undefined && <Failure reason={failure} onRetry={refetch} />}
      <DataTable
        label="Files"
        columns={columns}
        rows={files}
        keyOf={({ id }) => id}
        empty={
          <EmptyState title="No files.">
            <p>Files that batches read and write are stored here, encrypted, until they expire.</p>
          </EmptyState>
        }
      />
      {more && (
        <Group justify="flex-end" mt="sm">
          <Button size="xs" variant="default" onClick={() => void more()}>
            Load more
          </Button>
        </Group>
      )}
      {deleted && (
        <ConfirmDialog
          title={`Delete ${deleted.filename}?`}
          label="Delete"
          done={`${deleted.filename} is deleted.`}
          onClose={() => setDeleted(undefined)}
          act={async () => {
            await deleteClientFile(deleted.id);
            remove(deleted.id);
          }}
        >
          <p>
            Its content is erased and cannot be restored. A batch that reads it goes on to its end
            {deleted.purpose === "batch_output" && "; the answers in it were charged all the same"}.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

function columnsOf(onDelete: (file: ClientFile) => void): readonly Column<ClientFile>[] {
  const at = (seconds: number) => new Date(seconds * 1_000).toISOString();
  return [
    {
      id: "name",
      name: "Name",
      cell: ({ filename }) => <strong className="batch-name">{filename}</strong>,
    },
    { id: "id", name: "ID", cell: ({ id }) => <Hash of={id} withCopy /> },
    {
      id: "purpose",
      name: "Purpose",
      cell: ({ purpose }) => (purpose === "batch" ? "requests" : "answers or failures"),
    },
    { id: "size", name: "Size", isNumber: true, cell: (file) => bytes(String(file.bytes)) },
    { id: "created", name: "Created", cell: (file) => <ClockTime at={at(file.created_at)} /> },
    { id: "expires", name: "Expires", cell: (file) => <Time at={at(file.expires_at)} /> },
    {
      id: "actions",
      name: "",
      cell: (file) => (
        <Group gap={6} justify="flex-end" wrap="nowrap">
          <Button
            component="a"
            href={contentUrl(file.id)}
            download
            size="compact-sm"
            variant="default"
            aria-label={`Download ${file.filename}`}
          >
            Download
          </Button>
          <Button
            size="compact-sm"
            variant="subtle"
            color="red"
            onClick={() => onDelete(file)}
            aria-label={`Delete ${file.filename}`}
          >
            Delete
          </Button>
        </Group>
      ),
    },
  ];
}
