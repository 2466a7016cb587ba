import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { FolderEntry } from "../../../src/storage/folders/folder.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";

/** The kind of a folder entry. */
const FolderEntryKind = defineEnum<FolderEntry["kind"]>("FolderEntryKind", "The kind of a folder entry.", {
  file: "A file.",
  directory: "A directory.",
  symbolic: "A symbolic link. It is listed but never followed.",
});

/** An entry of a folder. */
@ObjectType("FolderEntry", { description: "An entry of a folder.", simpleResolvers: true })
export class FolderEntryType {
  @Field(() => String, { description: "The entry's name." })
  name!: string;

  @Field(() => String, { description: "The entry's path from the top of the folder." })
  path!: string;

  @Field(() => FolderEntryKind, { description: "The entry's kind." })
  kind!: FolderEntry["kind"];

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The size of a file in bytes. Null for directories and links.",
  })
  sizeBytes!: bigint | null;

  @Field(() => [Hash32Scalar], {
    description:
      "The merkle roots of the stored files that make up a file, in order. Empty for an empty file.",
  })
  roots!: readonly string[];

  @Field(() => String, {
    nullable: true,
    description: "The target of a symbolic link. Null for files and directories.",
  })
  link!: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      "The path on this service's origin that downloads a file or lists a directory. Null for links.",
  })
  url!: string | null;
}

/** A list of a directory's entries. */
export const FolderEntryConnection = defineCountedConnection("FolderEntry", () => FolderEntryType);

/** Maps an entry to its GraphQL type; `names` is its path from the top of the folder `root`. */
export function toFolderEntry(root: string, names: readonly string[], entry: FolderEntry): FolderEntryType {
  const path = names.map(encodeURIComponent).join("/");
  return {
    name: entry.name,
    path: `/${names.join("/")}`,
    kind: entry.kind,
    sizeBytes: entry.kind === "file" ? BigInt(entry.sizeBytes) : null,
    roots: entry.kind === "file" ? entry.roots : [],
    link: entry.kind === "symbolic" ? entry.link : null,
    url: entry.kind === "symbolic" ? null : `/file/${root}/${path}`,
  };
}
