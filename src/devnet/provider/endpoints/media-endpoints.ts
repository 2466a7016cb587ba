import { randomUUID } from "node:crypto";
import { z } from "zod";
import { readTranscriptionRequest, transcribe } from "./audio-transcript.ts";
import {
  type Endpoint,
  type EndpointAnswer,
  formOf,
  notServed,
  type Offer,
  parseJson,
  refused,
  whole,
} from "./endpoint.ts";
import { drawImage, type ImageSize, sizeOfPng } from "./image.ts";
import { readSpeechRequest, speak } from "./speech.ts";

const DEFAULT_SIDE = 512;
const MAX_SIDE_PIXELS = 2_048;
const MAX_IMAGES = 10;

const size = z.string().regex(/^\d{1,4}x\d{1,4}$/);
const imageRequest = z.object({
  model: z.string(),
  prompt: z.string().min(1),
  n: z.union([z.null().transform(() => 1), z.coerce.number().int().min(1).max(MAX_IMAGES)]).default(1),
  size: z.union([size, z.literal("auto")]).optional(),
});

/** Image generation. */
export function imagesOf(offer: Offer): Endpoint {
  return ({ body }) => {
    const request = imageRequest.safeParse(parseJson(body)).data;
    if (!request) return refused("not an image request");
    if (request.model !== offer.model) return notServed(request.model);
    return imageAnswer(request, sizeOf(request.size));
  };
}

/** Image editing: the image is a part of the seed. */
export function editsOf(offer: Offer): Endpoint {
  return async ({ body, contentType }) => {
    const form = await formOf(body, contentType);
    const image = form && [...form.files].find(([name]) => name === "image" || name === "image[]")?.[1];
    const request = imageRequest.safeParse(form && Object.fromEntries(form.fields)).data;
    if (!request || !image) return refused("not an image edit");
    if (request.model !== offer.model) return notServed(request.model);
    const own = sizeOfPng(image.bytes);
    return imageAnswer(
      request,
      request.size === undefined && own ? bounded(own) : sizeOf(request.size),
      image.bytes,
    );
  };
}

/** Transcriptions of audio. */
export function transcriptionsOf(offer: Offer): Endpoint {
  return async ({ body, contentType }) => {
    const form = await formOf(body, contentType);
    const request = form && readTranscriptionRequest(form);
    if (!request) return refused("not a transcription request");
    if (request.model !== offer.model) return notServed(request.model);
    const transcript = transcribe(request);
    const responseKey = `transcript-${randomUUID()}`;
    return { kind: "whole", contentType: transcript.contentType, content: transcript.text, responseKey };
  };
}

/** Speech. */
export function speechOf(offer: Offer): Endpoint {
  return ({ body }) => {
    const request = readSpeechRequest(parseJson(body));
    if (!request) return refused("not a request for speech");
    if (request.model !== offer.model) return notServed(request.model);
    const { contentType, bytes } = speak(request);
    return { kind: "whole", contentType, content: bytes, responseKey: `speech-${randomUUID()}` };
  };
}

function imageAnswer(
  { prompt, n }: z.infer<typeof imageRequest>,
  pixels: ImageSize,
  image: Buffer = Buffer.alloc(0),
): EndpointAnswer {
  const data = Array.from({ length: n }, (_, index) => {
    const seed = Buffer.concat([Buffer.from(`${prompt}\n${index}\n`), image]);
    return { b64_json: drawImage(seed, pixels).toString("base64") };
  });
  return whole(JSON.stringify({ created: Math.floor(Date.now() / 1_000), data }));
}

function sizeOf(text: string | undefined): ImageSize {
  const [width = DEFAULT_SIDE, height = DEFAULT_SIDE] = text?.includes("x")
    ? text.split("x").map(Number)
    : [];
  return bounded({ width, height });
}

function bounded({ width, height }: ImageSize): ImageSize {
  const side = (pixels: number) => Math.min(MAX_SIDE_PIXELS, Math.max(1, pixels));
  return { width: side(width), height: side(height) };
}
