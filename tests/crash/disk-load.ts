import { randomBytes } from "node:crypto";
import { type PublishedFile, prepareFile, startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";
import { newChat, type Sent, type SentChat, sendNewChat } from "./load.ts";
import { randomOf } from "./points.ts";
import type { CrashWorld } from "./world.ts";

/** A file that is uploaded, and when each of its segments was acknowledged. */
export type UploadedFile = { readonly file: PublishedFile; readonly acknowledgedMs: number[] };

/** What was sent to a product. */
export type DiskRecord = { readonly chats: SentChat[]; readonly files: UploadedFile[] };

/** Clients at work. */
export type DiskLoad = {
  /** Resolves once chats and segments of this load were acknowledged. */
  readonly underWay: Promise<unknown>;
  /** Ends the load, and throws what failed in it. */
  stop(): Promise<void>;
};

const CHAT_LANES = 4;
const FILE_BYTES = 3 * 256 * 1_024 + 1;

/**
 * Starts clients that send chats and upload files, one after the other, and add them to the record. No two loads on one
 * product may have the same name and seed: their keys would be the same.
 */
export async function startDiskLoad(
  world: CrashWorld,
  rpcUrl: string,
  { chats, files }: DiskRecord,
  { name, seed }: { readonly name: string; readonly seed: number },
): Promise<DiskLoad> {
  const { secret, tripwire } = world;
  const { origin } = world.product();
  const publisher = await startPublisher({ rpcUrl, origin });
  const [earlierChats, earlierFiles] = [chats.length, files.length];
  let isStopped = false;
  const chatLane = async (_: unknown, lane: number) => {
    const random = randomOf(seed * 1_000 + lane);
    for (let n = 0; !isStopped; n++) {
      const chat = newChat({ point: name, seed, maxTokens: 30 }, `${lane}-${n}`, random);
      chats.push(chat);
      const sent: Sent = { chats: [], jobs: [], submissions: 0, refusals: [] };
      const isServed = await sendNewChat({ origin, secret, tripwire }, sent, chat);
      if (!isServed || sent.refusals.some((refusal) => !refusal.startsWith("503")))
        throw new Error(`a chat failed: ${sent.refusals.join()}`);
    }
  };
  const fileLane = async () => {
    while (!isStopped) {
      const uploaded = { file: prepareFile(randomBytes(FILE_BYTES)), acknowledgedMs: [] as number[] };
      files.push(uploaded);
      await publisher.submit(uploaded.file);
      for (const segment of uploaded.file.segments) {
        await untilNotBusy(() => publisher.post({ root: uploaded.file.root, ...segment }));
        uploaded.acknowledgedMs.push(performance.now());
      }
    }
  };
  const lanes = Promise.all([...Array.from({ length: CHAT_LANES }, chatLane), fileLane()]);
  // Thrown by `stop`.
  lanes.catch(() => {});
  const answered = () => chats.slice(earlierChats).filter(({ answer }) => answer !== undefined);
  const isUnderWay = () =>
    answered().length >= CHAT_LANES && (files[earlierFiles]?.acknowledgedMs.length ?? 0) >= 2;
  return {
    underWay: Promise.race([until(isUnderWay), lanes]),
    async stop() {
      isStopped = true;
      await lanes;
    },
  };
}

/** Sends again what a busy machine answered with 503: nothing of it is acknowledged. */
async function untilNotBusy(send: () => Promise<Response>): Promise<void> {
  await until(async () => {
    const reply = await send();
    if (reply.status === 503) return false;
    if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
    return true;
  });
}
