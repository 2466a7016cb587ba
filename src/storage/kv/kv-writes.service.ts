import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { encryptFile, type Recipient } from "../encryption/file-encryption.ts";
import { fileShape, SEGMENT_BYTES, segmentBytes } from "../merkle/shape.ts";
import type { PreparedUpload, UploadsService } from "../uploads/uploads.service.ts";
import { EncodingError, encodeStreamData, MAX_U64, type StreamData, streamsOf } from "./stream-data.ts";
import { encodeTags } from "./stream-tags.ts";

/** A transaction on streams to build, and its sender. */
export type KvWriteRequest = Omit<StreamData, "version"> & {
  /** The newest version that the writer has seen; without it, nothing conflicts. */
  readonly version?: bigint | undefined;
  readonly from: Hex;
  /** Encrypts the file for this recipient; a gateway that replays it must have the key. */
  readonly recipient?: Recipient | undefined;
};

/** A prepared write: the file with the transaction, and its prepared upload. */
export type PreparedKvWrite = PreparedUpload & {
  readonly content: Buffer;
  readonly tags: Hex;
  readonly streamIds: readonly Hex[];
};

const MAX_CONTENT_BYTES = 4 * 1_048_576;

/** Builds transactions on streams for clients to sign and send. */
export class KvWritesService {
  readonly #uploads: Pick<UploadsService, "prepare">;

  constructor(uploads: Pick<UploadsService, "prepare">) {
    this.#uploads = uploads;
  }

  /**
   * Builds a transaction. It takes effect once its submission is mined and its segments are uploaded; the same one sent
   * twice is submitted twice, since each submission writes at its own version. Throws `invalid_parameter` for values
   * that the format cannot encode or more than 4 MiB, and what preparing an upload throws.
   */
  async prepare({ version = MAX_U64, from, recipient, ...data }: KvWriteRequest): Promise<PreparedKvWrite> {
    const streamIds = streamsOf(data);
    if (streamIds.length === 0)
      throw new AppError("invalid_parameter", "A transaction must write to or control at least one stream.", {
        param: "writes",
      });
    const plaintext = encode({ ...data, version });
    const content = recipient ? encrypt(plaintext, recipient) : plaintext;
    if (content.length > MAX_CONTENT_BYTES)
      throw new AppError(
        "invalid_parameter",
        `A transaction may have at most ${MAX_CONTENT_BYTES} bytes here.`,
        { param: "writes" },
      );
    const tags = encodeTags(streamIds);
    const upload = await this.#uploads.prepare({ content, tags, from, again: true });
    return { ...upload, content, tags, streamIds };
  }
}

/** Splits a file into the segments to upload; the last one is padded with zeros to whole chunks. */
export function segmentsOf(content: Buffer): readonly Buffer[] {
  const shape = fileShape(content.length);
  return Array.from({ length: shape.segments }, (_, index) => {
    const segment = Buffer.alloc(segmentBytes(shape, index));
    content.copy(segment, 0, index * SEGMENT_BYTES, (index + 1) * SEGMENT_BYTES);
    return segment;
  });
}

function encrypt(plaintext: Buffer, recipient: Recipient): Buffer {
  try {
    return encryptFile(plaintext, recipient);
  } catch (error) {
    if (error instanceof AppError)
      throw new AppError(error.code, error.message, { param: "recipientPublicKey", cause: error });
    throw error;
  }
}

function encode(data: StreamData): Buffer {
  try {
    return encodeStreamData(data);
  } catch (error) {
    if (error instanceof EncodingError)
      throw new AppError("invalid_parameter", `The transaction cannot be encoded: ${error.message}.`, {
        param: error.part,
      });
    throw error;
  }
}
