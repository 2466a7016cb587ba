import "../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { FolderEntry } from "../../src/storage/folder.ts";
import { defineConnection } from "../shared/schema/connection.ts";
import { defineEnum } from "../shared/schema/enumeration.ts";
import { BigIntScalar, Hash32Scalar } from "../shared/schema/scalars.ts";

/** What an entry of a folder is. */
const FolderEntryKind = defineEnum<FolderEntry["kind"]>("FolderEntryKind", "What an entry of a folder is.", {
  file: "A file.",
  directory: "A directory.",
  symbolic: "A symbolic link. It is shown and never followed.",
});

/** An entry of a folder. */
@ObjectType("FolderEntry", { description: "What a folder holds under a name.", simpleResolvers: true })
export class FolderEntryType {
  @Field(() => String, { description: "Its name." })
  name!: string;

  @Field(() => String, { description: "Where it is in its folder, from the top." })
  path!: string;

  @Field(() => FolderEntryKind, { description: "What it is." })
  kind!: FolderEntry["kind"];

  @Field(() => BigIntScalar, { nullable: true, description: "How many bytes a file has." })
  size!: bigint | null;

  @Field(() => [Hash32Scalar], {
    description: "The stored files that make up a file, one behind the other; none for an empty one.",
  })
  roots!: readonly string[];

  @Field(() => String, { nullable: true, description: "Where a link leads." })
  link!: string | null;

  @Field(() => String, {
    nullable: true,
    description: "Where this service gives a file out or lists a directory, as a path from its origin.",
  })
  url!: string | null;
}

/** A list of what a directory holds. */
export const FolderEntryConnection = defineConnection("FolderEntry", () => FolderEntryType);

/** An entry as the graph tells of it; `names` lead to it from the top of the folder `root`. */
export function toFolderEntry(root: string, names: readonly string[], entry: FolderEntry): FolderEntryType {
  const path = names.map(encodeURIComponent).join("/");
  return {
    name: entry.name,
    path: `/${names.join("/")}`,
    kind: entry.kind,
    size: entry.kind === "file" ? BigInt(entry.sizeBytes) : null,
    roots: entry.kind === "file" ? entry.roots : [],
    link: entry.kind === "symbolic" ? entry.link : null,
    url: entry.kind === "symbolic" ? null : `/file/${root}/${path}`,
  };
}
