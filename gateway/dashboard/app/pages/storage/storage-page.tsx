import { Tabs } from "@mantine/core";
import { useFilters } from "../../data/list/use-list.ts";
import { Page } from "../../parts/page/page.tsx";
import { Files } from "./files.tsx";
import { KeyValues } from "./kv/key-values.tsx";
import type { StorageSearch } from "./storage-search.ts";
import { Upload } from "./upload/upload.tsx";
import "./storage.css";

/** Files by root, and key-value streams. */
export function StoragePage() {
  const [{ tab }, filter] = useFilters<StorageSearch>();
  const none = { all: undefined, stream: undefined, key: undefined, prefix: undefined, version: undefined };
  return (
    <Page
      title="Storage"
      about="Files are found by the root of their merkle tree, and every byte is checked against it."
    >
      <Tabs
        value={tab ?? "files"}
        onChange={(next) => filter({ ...none, tab: next === "values" ? "values" : undefined })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="files">Files</Tabs.Tab>
          <Tabs.Tab value="values">Key-value</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="files" className="page-body">
          <Upload />
          <Files />
        </Tabs.Panel>
        <Tabs.Panel value="values" className="page-body">
          <KeyValues />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
