import { z } from "zod";

const speechRequest = z.object({
  model: z.string(),
  input: z.string().min(1),
  voice: z.union([z.string().min(1), z.object({ id: z.string().min(1) })]),
  response_format: z.enum(["mp3", "opus", "aac", "flac", "wav", "pcm"]).nullish(),
  speed: z.number().min(0.25).max(4).nullish(),
});

/** A request for speech that the stand-in provider can answer. */
export type SpeechRequest = z.infer<typeof speechRequest>;

const SAMPLES_PER_SECOND = 8_000;
const BYTES_PER_SAMPLE = 2;
const SECONDS_PER_CHARACTER = 0.06;
const MAX_SECONDS = 60;
const LOUDNESS = 8_000;
const LOWEST_HZ = 180;

/** Reads a request for speech; undefined for an invalid one. */
export function readSpeechRequest(body: unknown): SpeechRequest | undefined {
  return speechRequest.safeParse(body).data;
}

/**
 * The text in tones, one for each character, for a minute at most: as 16-bit samples for `pcm`, otherwise as WAV, since
 * a real provider may also answer in another format than the requested one.
 */
export function speak({ input, response_format: format, speed }: SpeechRequest): {
  readonly contentType: string;
  readonly bytes: Buffer;
} {
  const perCharacter = Math.round((SECONDS_PER_CHARACTER / (speed ?? 1)) * SAMPLES_PER_SECOND);
  const characters = Math.min(input.length, Math.floor((MAX_SECONDS * SAMPLES_PER_SECOND) / perCharacter));
  const samples = new Int16Array(characters * perCharacter);
  for (let at = 0; at < samples.length; at++) {
    const code = input.charCodeAt(Math.floor(at / perCharacter));
    const hertz = code === 32 ? 0 : LOWEST_HZ + (code % 64) * 8;
    samples[at] = LOUDNESS * Math.sin((2 * Math.PI * hertz * at) / SAMPLES_PER_SECOND);
  }
  const bytes = Buffer.from(samples.buffer);
  if (format === "pcm") return { contentType: "audio/pcm", bytes };
  return { contentType: "audio/wav", bytes: Buffer.concat([wavHeader(bytes.length), bytes]) };
}

/** The header of one channel of 16-bit PCM (RIFF WAVE). */
function wavHeader(dataBytes: number): Buffer {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + dataBytes, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  header.writeUInt32LE(SAMPLES_PER_SECOND * BYTES_PER_SAMPLE, 28);
  header.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34);
  header.write("data", 36);
  header.writeUInt32LE(dataBytes, 40);
  return header;
}
