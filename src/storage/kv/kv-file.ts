import type { Hex } from "../../kernel/text/hex.ts";
import { type FileCipher, openFileCipher, type ReaderKeys } from "../encryption/file-encryption.ts";
import { MAX_HEADER_BYTES, readHeader, writeHeader } from "../encryption/file-header.ts";
import { type ByteSource, StreamDataError } from "./stream-reader.ts";

/** A finalized file of which any part can be read, verified against its root. */
export type KvFile = {
  readonly root: Hex;
  readonly sizeBytes: number;
  read(offset: number, length: number): Promise<Buffer>;
};

/** The plaintext of a transaction's file; `encryptionHeader` is set when the file is encrypted. */
export type KvPlaintext = ByteSource & { readonly encryptionHeader: Buffer | undefined };

/**
 * Opens the transaction in a file. A file counts as encrypted when it begins with 1 or 2 and a key for that version is
 * configured: in a plain file this byte is the top byte of the version, 0 or 255. Without a key, the file is read as
 * plaintext. Throws a `StreamDataError` for a header that no key opens.
 */
export async function openPlaintext(file: KvFile, keys: ReaderKeys): Promise<KvPlaintext> {
  const hasKey = keys.key !== undefined || keys.privateKey !== undefined;
  const start = hasKey ? await file.read(0, Math.min(MAX_HEADER_BYTES, file.sizeBytes)) : Buffer.alloc(0);
  const header = readHeader(start);
  const isReadable = header && (header.version === 1 ? keys.key : keys.privateKey);
  if (!header || !isReadable) return plain(file);
  try {
    return decrypted(file, openFileCipher(header, keys));
  } catch (cause) {
    throw new StreamDataError("the file cannot be decrypted", { cause });
  }
}

/** The plaintext of a file whose header is already known. */
export function reopenPlaintext(
  file: KvFile,
  encryptionHeader: Buffer | undefined,
  keys: ReaderKeys,
): KvPlaintext {
  const header = encryptionHeader && readHeader(encryptionHeader);
  return header ? decrypted(file, openFileCipher(header, keys)) : plain(file);
}

function plain(file: KvFile): KvPlaintext {
  return {
    sizeBytes: file.sizeBytes,
    read: (offset, length) => file.read(offset, length),
    encryptionHeader: undefined,
  };
}

function decrypted(file: KvFile, cipher: FileCipher): KvPlaintext {
  const { headerBytes } = cipher;
  return {
    sizeBytes: file.sizeBytes - headerBytes,
    read: async (offset, length) =>
      cipher.transform(await file.read(headerBytes + offset, length), BigInt(offset)),
    encryptionHeader: writeHeader(cipher.header),
  };
}
