import { z } from "zod";
import { checkInput } from "../../kernel/check.ts";
import { AppError } from "../../kernel/errors.ts";
import { type Form, formBody, readMultipart, textsOf } from "../../kernel/text/multipart.ts";
import { forwardedBody, readFields, upstreamModel } from "../body/request-fields.ts";
import { PROVIDER_OBJECT, providerPreferences } from "../chat/chat-request.ts";
import type { Provider } from "../providers/provider.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";

/** How many images one request may ask for. */
export const MAX_IMAGES = 10;
/** The longest prompt, and the longest that a provider may make of it, characters. */
export const MAX_PROMPT_LENGTH = 32_000;
const MAX_INPUT_IMAGES = 16;
const PICTURES = ["image", "image[]", "mask"];

const responseFormat = z.literal("b64_json", "must be b64_json: answers by URL are not offered");
const shared = {
  model: z.string().min(1).max(256),
  prompt: z.string().min(1).max(MAX_PROMPT_LENGTH),
};

/** The fields of an image request that the router itself reads; all others are the provider's to judge (facts 1.2). */
export const IMAGE_REQUEST = z
  .looseObject({
    ...shared,
    response_format: responseFormat.nullish(),
    n: z.int().min(1).max(MAX_IMAGES).nullish(),
    stream: z.literal(false, "images are not streamed").nullish(),
    provider: PROVIDER_OBJECT,
    verify_tee: z.boolean().nullish(),
  })
  .meta({ id: "ImageRequest" });

/** The texts of the form of an edit. */
const EditTexts = z.looseObject({
  ...shared,
  response_format: responseFormat.optional(),
  n: z
    .string()
    .regex(/^(10|[1-9])$/, `must be 1 to ${MAX_IMAGES}`)
    .optional(),
  stream: z.literal("false", "images are not streamed").optional(),
});

/** The form of an edit with its files, for OpenAPI; other fields are passed on to the provider. */
export const EDIT_FORM = z
  .looseObject({
    ...EditTexts.shape,
    image: z.string().meta({ format: "binary", description: "An image; `image[]` for several, 16 at most." }),
    mask: z.string().optional().meta({ format: "binary" }),
  })
  .meta({ id: "ImageEditForm" });

/** A request for images as the router needs to know it. */
export type ImageRequest = {
  readonly model: string;
  readonly serviceType: "text-to-image" | "image-editing";
  /** How many images are asked for. */
  readonly count: number;
  readonly preferences: RoutingPreferences;
  /** Whether the provider's signature of the answer is to be checked. */
  readonly verifyTee?: boolean | undefined;
  /** The type of the body, which is the same for every provider. */
  readonly contentType: string;
  /** What is sent to this provider. */
  bodyFor(provider: Provider): Buffer;
};

/** Reads a request for new images. Throws `invalid_body` naming the field at fault. */
export function readImageRequest(bytes: Buffer): ImageRequest {
  const fields = readFields(IMAGE_REQUEST, bytes);
  const format = fields.response_format == null ? { response_format: "b64_json" } : {};
  return {
    model: fields.model,
    serviceType: "text-to-image",
    count: fields.n ?? 1,
    preferences: providerPreferences(fields.provider),
    verifyTee: fields.verify_tee ?? false,
    contentType: "application/json",
    bodyFor: (provider) => forwardedBody({ bytes, fields }, { ...format, ...upstreamModel(provider) }),
  };
}

/** Reads the form of an edit: a picture or several, a prompt, maybe a mask. Throws `invalid_body`. */
export async function readImageEdit(bytes: Buffer, contentType: string): Promise<ImageRequest> {
  const form = await readMultipart(bytes, contentType);
  const { model, n, response_format } = checkInput(EditTexts, textsOf(form));
  checkPictures(form);
  const format = response_format === undefined ? { response_format: "b64_json" } : {};
  return {
    model,
    serviceType: "image-editing",
    count: Number(n ?? 1),
    preferences: {},
    contentType,
    bodyFor: (provider) => formBody(form, { ...format, ...upstreamModel(provider) }),
  };
}

function checkPictures({ parts }: Form): void {
  const pictures = parts.filter(({ filename }) => filename !== undefined);
  const strange = pictures.find(({ name }) => !PICTURES.includes(name));
  if (strange) throw fault(strange.name, "is no file of an edit");
  if (!pictures.some(({ name }) => name !== "mask")) throw fault("image", "is missing");
  if (pictures.length > MAX_INPUT_IMAGES) throw fault("image", `at most ${MAX_INPUT_IMAGES} may be sent`);
  const empty = pictures.find(({ bytes }) => bytes.length === 0);
  if (empty) throw fault(empty.name, "is empty");
}

function fault(param: string, what: string): AppError {
  return new AppError("invalid_body", `${param}: ${what}`, { param });
}
