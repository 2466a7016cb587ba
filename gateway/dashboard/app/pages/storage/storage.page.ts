import { createRoute } from "@tanstack/react-router";
import FolderOpen from "lucide-react/icons/folder-open";
import * as z from "zod/mini";
import { listSearch, parameter } from "../../data/list-search.ts";
import { definePage, lazyPage } from "../../shell/page.ts";
import { rootRoute } from "../../shell/root-route.ts";

/**
 * `tab`: the files, or the key-value streams. `all`: files of everyone. `stream`, and of it `prefix` (as text), `key`
 * (its bytes) and `version`: what of the streams is shown.
 */
const storageSearch = z.extend(listSearch, {
  tab: parameter(z.enum(["values"])),
  all: parameter(z.literal(true)),
  stream: parameter(z.string().check(z.regex(/^0x[0-9a-fA-F]{64}$/))),
  prefix: parameter(z.string().check(z.maxLength(1_024))),
  key: parameter(z.string().check(z.regex(/^0x([0-9a-fA-F]{2}){1,1024}$/))),
  version: parameter(z.int().check(z.gte(0))),
});
export type StorageSearch = z.output<typeof storageSearch>;

/** `path`: the directory of a folder. */
const fileSearch = z.extend(listSearch, { path: parameter(z.string().check(z.maxLength(4_096))) });
export type FileSearch = z.output<typeof fileSearch>;

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/storage",
  validateSearch: storageSearch,
  component: lazyPage(async () => (await import("./storage-page.tsx")).StoragePage),
});
const fileRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/storage/$root",
  validateSearch: fileSearch,
  component: lazyPage(async () => (await import("./file-page.tsx")).FilePage),
});

export const storagePage = definePage({
  name: "Storage",
  group: "Manage",
  icon: FolderOpen,
  to: "/storage",
  routes: [route, fileRoute],
});
