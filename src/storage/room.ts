import { addressOf } from "../chain/networks.ts";
import type { ChainRoom } from "../chain/room.ts";
import type { Life, Parts } from "../parts.ts";
import { FilesService } from "./files.service.ts";

/** The services of storage. */
export type StorageRoom = Life & { readonly files: FilesService };

/** Builds the services of storage. */
export function openStorageRoom(
  { network, database }: Parts,
  { follow }: Pick<ChainRoom, "follow">,
): StorageRoom {
  const files = new FilesService({
    queries: database,
    chainId: network.chainId,
    flow: addressOf(network, "flow"),
  });
  // A cursor of its own, since a halt of the deposits must not stop the files.
  follow("files", files);
  return { files, async stop() {} };
}
