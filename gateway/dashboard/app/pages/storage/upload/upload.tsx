import { Button, Group } from "@mantine/core";
import FileUp from "lucide-react/icons/file-up";
import FolderUp from "lucide-react/icons/folder-up";
import { useId, useRef, useState, useSyncExternalStore } from "react";
import { reasonOf } from "../../../data/query/graph.ts";
import { useNetwork, useSession } from "../../../data/session/session.tsx";
import { findWallet, useWallet } from "../../../data/wallet/use-wallet.ts";
import type { WalletChain } from "../../../data/wallet/wallet-requests.ts";
import { DropArea } from "../../../parts/form/drop-area.tsx";
import { Section } from "../../../parts/page/page.tsx";
import { Failure, Note } from "../../../parts/page/states.tsx";
import { type Chosen, readChosen, readDropped } from "./chosen-files.ts";
import { sampleFile } from "./sample-file.ts";
import { UnfinishedUploads } from "./unfinished-uploads.tsx";
import { isOver, uploadQueue } from "./upload-queue.ts";
import { UploadRow } from "./upload-row.tsx";

/** Uploads files and folders that are chosen or dropped, one after the other, and shows how far each is. */
export function Upload() {
  const { address } = useSession();
  const network = useNetwork();
  const wallet = useWallet();
  const [failure, setFailure] = useState<string>();
  const uploads = useSyncExternalStore(uploadQueue.subscribe, uploadQueue.uploads);
  const add = async (choose: () => Chosen | Promise<Chosen>) => {
    setFailure(undefined);
    try {
      // What was dropped must be read now, while the wallet may still be looked for.
      const [chosen, payingWallet] = await Promise.all([choose(), findWallet(network.networkId, address)]);
      const { files, folders, faults } = chosen;
      if (!payingWallet || !address)
        throw new Error("No wallet found: it pays the fee of the storage network.");
      const chain = network.walletParameters as WalletChain;
      const payer = { wallet: payingWallet, address, chain };
      uploadQueue.add(files, payer);
      for (const folder of folders) uploadQueue.addFolder(folder.name, folder.files, payer);
      if (faults.length > 0) setFailure(faults.join(" "));
    } catch (error) {
      setFailure(reasonOf(error));
    }
  };
  const isDevelopment = network.networkId === "devnet";
  return (
    <Section
      title="Upload"
      about="A file is hashed in this browser, its root is written to the chain, which costs a fee, and its segments are sent to the storage node."
      actions={
        uploads.some(isOver) && (
          <Button size="xs" variant="default" onClick={() => uploadQueue.clear()}>
            Clear the list
          </Button>
        )
      }
    >
      <DropArea onDrop={(data) => void add(() => readDropped(data))} hint="or drop files and folders here">
        <Group gap="xs">
          <Picker
            label="Choose files"
            icon={<FileUp size={16} />}
            onChoose={(list) => add(() => readChosen(list))}
          />
          <Picker
            label="Choose a folder"
            icon={<FolderUp size={16} />}
            isFolder
            onChoose={(list) => add(() => readChosen(list))}
          />
          {isDevelopment && (
            <Button
              variant="default"
              onClick={() => void add(() => ({ files: [sampleFile()], folders: [], faults: [] }))}
            >
              Upload a sample
            </Button>
          )}
        </Group>
      </DropArea>
      {failure && <Failure reason={failure} />}
      {uploads.length > 0 && (
        <ul
          className="uploads"
          aria-label="Uploads"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it.
          tabIndex={0}
        >
          {uploads.map((upload) => (
            <UploadRow key={upload.id} of={upload} />
          ))}
        </ul>
      )}
      {address && <UnfinishedUploads of={address} shown={uploads} />}
      {wallet === null && (
        <Note>No wallet found in this browser. You can browse and download files without one.</Note>
      )}
    </Section>
  );
}

function Picker({
  label,
  icon,
  isFolder = false,
  onChoose,
}: {
  label: string;
  icon: React.ReactNode;
  isFolder?: boolean;
  onChoose(files: FileList): void;
}) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button
        variant={isFolder ? "default" : "filled"}
        leftSection={icon}
        onClick={() => field.current?.click()}
      >
        {label}
      </Button>
      <input
        ref={field}
        id={id}
        type="file"
        hidden
        multiple
        {...(isFolder && { webkitdirectory: "" })}
        aria-label={isFolder ? "Folder to upload" : "Files to upload"}
        onChange={({ currentTarget }) => {
          if (currentTarget.files && currentTarget.files.length > 0) onChoose(currentTarget.files);
          // The same file can be chosen again.
          currentTarget.value = "";
        }}
      />
    </>
  );
}
