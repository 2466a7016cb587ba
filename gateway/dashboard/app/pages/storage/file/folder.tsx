import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import FileIcon from "lucide-react/icons/file";
import FolderIcon from "lucide-react/icons/folder";
import LinkIcon from "lucide-react/icons/link";
import { useState } from "react";
import { bytes } from "../../../data/amounts.ts";
import { useFilters, useList } from "../../../data/list/use-list.ts";
import { graphql, reasonOf } from "../../../data/query/graph.ts";
import { Section } from "../../../parts/page/page.tsx";
import { Failure } from "../../../parts/page/states.tsx";
import type { Column } from "../../../parts/table/column.ts";
import { ListTable } from "../../../parts/table/list-table.tsx";
import { Hash } from "../../../parts/value/hash.tsx";
import type { FileSearch } from "../storage-search.ts";
import type { StoredFile } from "../worker/messages.ts";
import { VerifiedDownload } from "./verified-download.tsx";

const ENTRIES = graphql(`
  query FolderEntries($root: Hash32!, $path: String!, $first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    file(root: $root) {
      entries(path: $path, first: $first, last: $last, after: $after, before: $before) {
        nodes { name path kind sizeBytes link roots files { root sizeBytes } }
        pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
      }
    }
  }
`);

type Entry = NonNullable<NonNullable<ResultOf<typeof ENTRIES>["file"]>["entries"]>["nodes"][number];

const PAGE_SIZE = 50;

/** The entries of a folder, directory by directory; nothing for a file that is not a folder. */
export function Folder({ of: folder }: { of: StoredFile }) {
  const [search] = useFilters<FileSearch>();
  const path = search.path ?? "/";
  const [chosen, setChosen] = useState<Entry>();
  const list = useList({
    query: ENTRIES,
    variables: { root: folder.root, path },
    pick: ({ file }) => file?.entries,
    size: PAGE_SIZE,
  });
  const code = list.error?.graphQLErrors[0]?.extensions.code;
  // It is not known to be a folder before the first answer.
  if (code === "folder_malformed" || (!list.rows && !list.error)) return null;
  const columns: readonly Column<Entry>[] = [
    { id: "name", name: "Name", cell: (entry) => <EntryName of={entry} root={folder.root} /> },
    {
      id: "size",
      name: "Size",
      isNumber: true,
      cell: ({ kind, sizeBytes }) => (kind === "FILE" ? bytes(sizeBytes ?? "0") : "–"),
    },
    {
      id: "root",
      name: "Root",
      cell: ({ roots }) =>
        roots.length === 1 && roots[0] ? (
          <Hash of={roots[0]} withCopy />
        ) : (
          roots.length > 1 && `${roots.length} parts`
        ),
    },
    {
      id: "actions",
      name: "",
      cell: (entry) =>
        partsOf(entry) && (
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`Download ${entry.name}`}
            onClick={() => setChosen(entry)}
          >
            Download
          </Button>
        ),
    },
  ];
  const parts = chosen && partsOf(chosen);
  return (
    <>
      <Section title="Folder" about={<Crumbs path={path} root={folder.root} />} isFlush>
        <ListTable
          label="Entries"
          list={list}
          columns={columns}
          keyOf={(entry) => entry.path}
          empty={code === undefined ? "This directory is empty." : <Failure reason={reasonOf(list.error)} />}
        />
      </Section>
      {chosen && parts && (
        <Section
          key={chosen.path}
          title={chosen.name}
          about="The folder's list of files is verified first, then the segments of this file."
          actions={
            <Button size="xs" variant="default" onClick={() => setChosen(undefined)}>
              Close
            </Button>
          }
        >
          <VerifiedDownload
            receipt={{ parts, listing: { folder, names: chosen.path.split("/").slice(1) } }}
            name={chosen.name}
          />
        </Section>
      )}
    </>
  );
}

/** The stored files of an entry; undefined for what is not a file with bytes, or is not on the chain. */
function partsOf({ kind, files }: Entry): readonly StoredFile[] | undefined {
  if (kind !== "FILE" || files.length === 0) return undefined;
  const parts = files.flatMap((file) =>
    file ? [{ root: file.root as StoredFile["root"], sizeBytes: Number(file.sizeBytes) }] : [],
  );
  return parts.length === files.length ? parts : undefined;
}

function EntryName({ of: { kind, name, path, link }, root }: { of: Entry; root: string }) {
  const icon = {
    DIRECTORY: <FolderIcon size={16} />,
    FILE: <FileIcon size={16} />,
    SYMBOLIC: <LinkIcon size={16} />,
  }[kind];
  return (
    <span className="entry-name">
      <span className="quiet" aria-hidden="true">
        {icon}
      </span>
      {kind === "DIRECTORY" ? (
        <Link to="/storage/$root" params={{ root }} search={{ path }}>
          {name}
        </Link>
      ) : (
        name
      )}
      {link && <span className="quiet">to {link}</span>}
    </span>
  );
}

function Crumbs({ path, root }: { path: string; root: string }) {
  const names = path.split("/").filter((name) => name !== "");
  return (
    <nav aria-label="Path">
      <ol className="crumbs">
        <li>
          {names.length === 0 ? (
            <span aria-current="page">top</span>
          ) : (
            <Link to="/storage/$root" params={{ root }} search={{}}>
              top
            </Link>
          )}
        </li>
        {names.map((name, at) => {
          const to = `/${names.slice(0, at + 1).join("/")}`;
          return (
            <li key={to}>
              {at === names.length - 1 ? (
                <span aria-current="page">{name}</span>
              ) : (
                <Link to="/storage/$root" params={{ root }} search={{ path: to }}>
                  {name}
                </Link>
              )}
            </li>
          );
        })}
      </ol>
    </nav>
  );
}
