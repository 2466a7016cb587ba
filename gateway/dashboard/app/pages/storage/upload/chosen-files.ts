/** A file that was chosen or dropped, with its path in the folder that was; for a single file that is its name. */
export type ChosenFile = { readonly file: File; readonly path: readonly string[] };

/** What was chosen or dropped: single files, and folders with all that is in them. */
export type Chosen = {
  readonly files: readonly ChosenFile[];
  readonly folders: readonly { readonly name: string; readonly files: readonly ChosenFile[] }[];
  /** Why some of it cannot be uploaded, in sentences; the rest can. */
  readonly faults: readonly string[];
};

/** The most files at once: each is a transaction of its own. */
const MAX_FILES = 500;
/** The deepest folder that is read. */
const MAX_DEPTH = 64;

/**
 * Reads what was dropped. Call it while the event is handled: its items are gone afterwards. Throws an `Error` for more
 * than `MAX_FILES`, and for a folder that cannot be read.
 */
export async function readDropped(transfer: DataTransfer): Promise<Chosen> {
  const given = [...transfer.items].flatMap((item) => {
    const entry = item.kind === "file" ? item.webkitGetAsEntry() : null;
    const file = item.kind === "file" ? item.getAsFile() : null;
    return file || entry ? [{ entry, file }] : [];
  });
  const files: ChosenFile[] = [];
  const folders: { name: string; files: ChosenFile[] }[] = [];
  for (const { entry, file } of given) {
    if (entry?.isDirectory) {
      const inside: ChosenFile[] = [];
      await readDirectory(entry as FileSystemDirectoryEntry, [], inside);
      folders.push({ name: entry.name, files: inside });
    } else if (file) files.push({ file, path: [file.name] });
  }
  return checked({ files, folders });
}

/** What was chosen in a field, whose `webkitRelativePath` has the path in a folder. */
export function readChosen(list: FileList): Chosen {
  requireFew(list.length);
  const files: ChosenFile[] = [];
  const folders = new Map<string, ChosenFile[]>();
  for (const file of list) {
    const [name = "", ...path] = file.webkitRelativePath.split("/");
    if (path.length === 0) files.push({ file, path: [file.name] });
    else folders.set(name, [...(folders.get(name) ?? []), { file, path }]);
  }
  return checked({ files, folders: [...folders].map(([name, inside]) => ({ name, files: inside })) });
}

function checked({ files, folders }: Omit<Chosen, "faults">): Chosen {
  requireFew(folders.reduce((sum, { files: inside }) => sum + inside.length, files.length));
  const empty = files.filter(({ file }) => file.size === 0).map(({ file }) => file.name);
  const bare = folders.filter(({ files: inside }) => inside.length === 0).map(({ name }) => name);
  return {
    files: files.filter(({ file }) => file.size > 0),
    folders: folders.filter(({ files: inside }) => inside.length > 0),
    faults: [
      ...empty.map((name) => `${name} is empty.`),
      ...(empty.length > 0 ? ["The network stores files of at least one byte."] : []),
      ...bare.map((name) => `The folder ${name} has no files.`),
    ],
  };
}

function requireFew(count: number): void {
  if (count > MAX_FILES) throw new Error(`Up to ${MAX_FILES} files can be uploaded at once. These are more.`);
}

async function readDirectory(
  directory: FileSystemDirectoryEntry,
  path: readonly string[],
  into: ChosenFile[],
): Promise<void> {
  if (path.length > MAX_DEPTH) throw new Error("The folder is too deep.");
  const reader = directory.createReader();
  for (;;) {
    // A part of the entries at a time, until there are none.
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (entries.length === 0) return;
    for (const entry of entries) {
      const names = [...path, entry.name];
      if (entry.isDirectory) await readDirectory(entry as FileSystemDirectoryEntry, names, into);
      else {
        requireFew(into.length + 1);
        const file = await new Promise<File>((resolve, reject) =>
          (entry as FileSystemFileEntry).file(resolve, reject),
        );
        into.push({ file, path: names });
      }
    }
  }
}
