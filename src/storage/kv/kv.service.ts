import type { Queries } from "../../db/database.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Page, PageRequest } from "../../kernel/page.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { ReaderKeys } from "../encryption/file-encryption.ts";
import { fileFailure } from "../file-failures.ts";
import type { SubmissionsService } from "../submissions/submissions.service.ts";
import {
  findEntry,
  findNeighbours,
  listEntries,
  type Neighbourhood,
  type StoredEntry,
} from "./entry.store.ts";
import type { HeldStreams } from "./held-streams.ts";
import { NO_ACCOUNT } from "./judge.ts";
import { reopenPlaintext } from "./kv-file.ts";
import type { KvFiles } from "./kv-files.ts";
import type { RecentWrites } from "./recent-writes.ts";
import { listPending, readPlace } from "./replay.store.ts";
import { readState } from "./state.store.ts";
import {
  findStream,
  findTransactions,
  type KvStream,
  type KvTransaction,
  listStreamIds,
  listStreams,
} from "./stream.store.ts";
import { MAX_NAMED_KEY_BYTES, MAX_U64, type StreamKey } from "./stream-data.ts";

/** A key at one version. `sizeBytes` is 0 for a deleted key. */
export type KvEntry = StoredEntry;

export type { KvStream, KvTransaction };

/** How far the replay has come: `nextSeq` is the first undecided submission. */
export type ReplayProgress = { readonly nextSeq: bigint; readonly firstSeq: bigint | undefined };

/** The rights of an account on a stream and, if given, a key. */
export type KvRights = {
  readonly isAdmin: boolean;
  readonly isWriterOfStream: boolean;
  readonly isSpecialKey: boolean;
  readonly isWriterOfKey: boolean;
  readonly hasWritePermission: boolean;
};

type Dependencies = {
  readonly queries: Queries;
  readonly chainId: number;
  /** Waits briefly for writes that were just uploaded through this process. */
  readonly recent: Pick<RecentWrites, "settled">;
  readonly files: Pick<KvFiles, "get">;
  readonly submissions: Pick<SubmissionsService, "nextTxSeq" | "listFrom">;
};

/** Which streams are held here, and the keys of encrypted files. */
type Options = { readonly held: HeldStreams; readonly keys: ReaderKeys };

const MAX_STREAMS = 10_000;

/** Key-value streams as on the chain: every key at every version, the rights, and the result of each transaction. */
export class KvService {
  readonly #dependencies: Dependencies;
  readonly #options: Options;

  constructor(dependencies: Dependencies, options: Options) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** A key as of `version` (by default the latest), including a deleted one; undefined if not written by then. */
  async entry(streamId: Hex, key: Buffer, version = MAX_U64): Promise<KvEntry | undefined> {
    requireKey(key);
    await this.#settled();
    return findEntry(this.#dependencies.queries, this.#dependencies.chainId, { streamId, key, version });
  }

  /** The nearest key that is not deleted, up or down from a key, or the first or last of all. */
  async neighbour(where: Neighbourhood): Promise<KvEntry | undefined> {
    if (where.from) requireKey(where.from.key);
    await this.#settled();
    return (await findNeighbours(this.#dependencies.queries, this.#dependencies.chainId, where, 1))[0];
  }

  /** A page of a stream's keys that are not deleted, ascending or descending by bytes. Throws `invalid_cursor`. */
  async entries(where: Omit<Neighbourhood, "from">, page: PageRequest): Promise<Page<KvEntry>> {
    requireLength(where.prefix, "prefix");
    await this.#settled();
    return listEntries(this.#dependencies.queries, this.#dependencies.chainId, where, page);
  }

  /**
   * At most `length` bytes of a value from `start` on; values in files are verified against the root of the file.
   * Throws what reading a file throws, and `invalid_parameter` when the decryption key is no longer configured.
   */
  async read(entry: KvEntry, start: number, length: number): Promise<Buffer> {
    const { value, version, root, encryptionHeader, offset, sizeBytes } = entry;
    const end = Math.min(start + length, sizeBytes);
    if (end <= start) return Buffer.alloc(0);
    if (value) return value.subarray(start, end);
    const file = await this.#dependencies.files.get(version);
    // A reorg may have given the sequence number to another file since the entry was read.
    if (file.root !== root) throw fileFailure("file_not_found");
    const plaintext = reopenPlaintext(file, encryptionHeader, this.#options.keys);
    // A value may end beyond its file, within the last sector: those bytes are zeros.
    const stored = Math.min(end - start, plaintext.sizeBytes - offset - start);
    const bytes = stored > 0 ? await plaintext.read(offset + start, stored) : Buffer.alloc(0);
    return bytes.length === end - start
      ? bytes
      : Buffer.concat([bytes, Buffer.alloc(end - start - bytes.length)]);
  }

  /** The outcomes of transactions; undefined for those that are undecided or do not write to streams. */
  async transactions(txSeqs: readonly bigint[]): Promise<readonly (KvTransaction | undefined)[]> {
    await this.#settled();
    return findTransactions(this.#dependencies.queries, this.#dependencies.chainId, txSeqs);
  }

  /** A stream, undefined until it is written to. */
  async stream(streamId: Hex): Promise<KvStream | undefined> {
    await this.#settled();
    return findStream(this.#dependencies.queries, this.#dependencies.chainId, streamId);
  }

  /** The streams that were written to, in the order of their ids. */
  streams(page: PageRequest): Promise<Page<KvStream>> {
    return listStreams(this.#dependencies.queries, this.#dependencies.chainId, page);
  }

  /** The streams held here, ascending: those of the setting, or for `all` at most 10,000 that were written to. */
  async heldStreams(): Promise<readonly Hex[]> {
    const { queries, chainId } = this.#dependencies;
    const { held } = this.#options;
    return held === "all" ? listStreamIds(queries, chainId, MAX_STREAMS) : [...new Set(held)].sort();
  }

  /** How far the replay has come. */
  async progress(): Promise<ReplayProgress> {
    const { queries, chainId, submissions } = this.#dependencies;
    await this.#settled();
    const { nextSeq } = await readPlace(queries, chainId);
    const [pending] = await listPending(queries, chainId, { from: nextSeq, limit: 1 });
    const [next, [first]] = await Promise.all([submissions.nextTxSeq(), submissions.listFrom(0n, 1)]);
    return { nextSeq: pending?.txSeq ?? next, firstSeq: first?.txSeq };
  }

  /** The rights of an account as of `version`. Without a key, the rights on keys are false. */
  async rights(
    account: Hex,
    { streamId, key = Buffer.alloc(0) }: { readonly streamId: Hex; readonly key?: Buffer | undefined },
    version = MAX_U64,
  ): Promise<KvRights> {
    const { queries, chainId } = this.#dependencies;
    requireLength(key, "key");
    await this.#settled();
    const at: StreamKey = { streamId, key };
    const state = await readState(queries, chainId, {
      ...{ account, version, streamIds: [streamId] },
      keys: key.length > 0 ? [at] : [],
    });
    const isAdmin = state.isAdmin(streamId);
    const isWriterOfStream = state.isWriter(streamId);
    const isSpecialKey = state.isSpecial(at);
    const isWriterOfKey = state.isKeyWriter(at);
    const mayWriteKey = isSpecialKey ? isWriterOfKey : isWriterOfStream;
    return {
      ...{ isAdmin, isWriterOfStream, isSpecialKey, isWriterOfKey },
      hasWritePermission: state.isNew(streamId) || isAdmin || mayWriteKey,
    };
  }

  /** Whether a key is special, as of `version`. */
  async isSpecialKey(at: StreamKey, version?: bigint): Promise<boolean> {
    requireKey(at.key);
    return (await this.rights(NO_ACCOUNT, at, version)).isSpecialKey;
  }

  #settled(): Promise<void> {
    return this.#dependencies.recent.settled();
  }
}

function requireKey(key: Buffer): void {
  if (key.length === 0) throw new AppError("invalid_parameter", "key is empty", { param: "key" });
  requireLength(key, "key");
}

function requireLength(bytes: Buffer | undefined, param: "key" | "prefix"): void {
  if (bytes && bytes.length > MAX_NAMED_KEY_BYTES)
    throw new AppError("invalid_parameter", `${param} is longer than ${MAX_NAMED_KEY_BYTES} bytes`, {
      param,
    });
}
