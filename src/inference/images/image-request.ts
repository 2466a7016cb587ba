import { z } from "zod";
import { shortString } from "../../kernel/text/characters.ts";
import { type Form, formBody, readMultipart } from "../../kernel/text/multipart.ts";
import { FORM_VERIFY_TEE, readFormFields } from "../body/form-fields.ts";
import { invalidField } from "../body/invalid-field.ts";
import { forwardedBody, readFields, upstreamModel } from "../body/request-fields.ts";
import { type GuardedRequest, guardedJson } from "../guardrails/guarded-request.ts";
import type { Provider } from "../providers/provider.ts";
import { NO_FALLBACK_MODELS, PROVIDER_OBJECT, providerPreferences } from "../routing/routing-fields.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";

/** Maximum number of images per request. */
export const MAX_IMAGES = 10;
/** Maximum length of a prompt and of a provider's revised prompt, characters. */
export const MAX_PROMPT_LENGTH = 32_000;
const MAX_INPUT_IMAGES = 16;
const FILE_FIELDS = ["image", "image[]", "mask"];

const responseFormat = z.literal("b64_json", "must be b64_json: URL responses are not supported");
const shared = {
  model: shortString(256),
  models: NO_FALLBACK_MODELS,
  prompt: shortString(MAX_PROMPT_LENGTH),
};

/** The fields of an image request that the router reads; the provider validates all others (facts 1.2). */
export const IMAGE_REQUEST = z
  .looseObject({
    ...shared,
    response_format: responseFormat.nullish(),
    n: z.int().min(1).max(MAX_IMAGES).nullish(),
    stream: z.literal(false, "images cannot be streamed").nullish(),
    provider: PROVIDER_OBJECT,
    verify_tee: z.boolean().nullish(),
  })
  .meta({ id: "ImageRequest" });

/** The text fields of an image-edit form. */
const EditTexts = z.looseObject({
  ...shared,
  response_format: responseFormat.optional(),
  n: z
    .string()
    .regex(/^(10|[1-9])$/, `must be 1 to ${MAX_IMAGES}`)
    .optional(),
  stream: z.literal("false", "images cannot be streamed").optional(),
  verify_tee: FORM_VERIFY_TEE,
});

const binary = z.string().meta({ format: "binary" });
/** The image-edit form with its files, for OpenAPI; other fields are forwarded to the provider. */
export const EDIT_FORM = z
  .looseObject({
    ...EditTexts.shape,
    image: z.union([binary, z.array(binary)]).meta({
      description: "An image. Several, 16 at most, may have this name or `image[]`.",
    }),
    mask: z.string().optional().meta({ format: "binary" }),
  })
  .meta({ id: "ImageEditForm" });

/** An image request, reduced to what the router reads. */
export type ImageRequest = {
  readonly model: string;
  readonly serviceType: "text-to-image" | "image-editing";
  /** Number of requested images. */
  readonly count: number;
  readonly preferences: RoutingPreferences;
  /** Whether to verify the provider's signature of the answer. */
  readonly verifyTee?: boolean | undefined;
  /** What the guardrails of a key are compared with. */
  readonly guarded: GuardedRequest;
  /** The content type of the body, the same for every provider. */
  readonly contentType: string;
  /** The body to send to this provider. */
  bodyFor(provider: Provider): Buffer;
};

/** Reads a request to generate images. Throws `invalid_body` naming the invalid field. */
export function readImageRequest(bytes: Buffer): ImageRequest {
  const fields = readFields(IMAGE_REQUEST, bytes);
  const format = fields.response_format == null ? { response_format: "b64_json" } : {};
  return {
    model: fields.model,
    serviceType: "text-to-image",
    count: fields.n ?? 1,
    preferences: providerPreferences(fields.provider),
    verifyTee: fields.verify_tee ?? false,
    guarded: guardedJson(bytes.length, fields),
    contentType: "application/json",
    bodyFor: (provider) => forwardedBody({ bytes, fields }, { ...format, ...upstreamModel(provider) }),
  };
}

/** Reads an image-edit form: one or more images, a prompt, an optional mask. Throws `invalid_body`. */
export async function readImageEdit(bytes: Buffer, contentType: string): Promise<ImageRequest> {
  const sent = await readMultipart(bytes, contentType);
  const { texts, form, verifyTee, guarded } = readFormFields(EditTexts, sent, bytes.length);
  const { model, n, response_format } = texts;
  checkFiles(sent);
  const format = response_format === undefined ? { response_format: "b64_json" } : {};
  return {
    model,
    serviceType: "image-editing",
    count: Number(n ?? 1),
    preferences: {},
    verifyTee,
    guarded,
    contentType,
    bodyFor: (provider) => formBody(form, { ...format, ...upstreamModel(provider) }),
  };
}

function checkFiles({ parts }: Form): void {
  const files = parts.filter(({ filename }) => filename !== undefined);
  const unexpected = files.find(({ name }) => !FILE_FIELDS.includes(name));
  if (unexpected) throw invalidField(unexpected.name, "is not a file field of an image edit");
  if (!files.some(({ name }) => name !== "mask")) throw invalidField("image", "is missing");
  if (files.length > MAX_INPUT_IMAGES)
    throw invalidField("image", `at most ${MAX_INPUT_IMAGES} files are allowed`);
  const empty = files.find(({ bytes }) => bytes.length === 0);
  if (empty) throw invalidField(empty.name, "is empty");
}
