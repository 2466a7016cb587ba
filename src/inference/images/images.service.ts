import type { AdmissionService } from "../billing/admission.service.ts";
import type { AdmissionRequest } from "../billing/admission-request.ts";
import type { Caller } from "../billing/admitted.ts";
import { quoteUnits, type UnitUsage } from "../billing/pricing.ts";
import type { Bodies, BodyPool } from "../body/body-pool.ts";
import type { ShownAnswer } from "../chat/answer-edits.ts";
import { answerIdOf, emptyAnswer, readAnswerObject } from "../chat/whole-answer.ts";
import type { DispatchService } from "../dispatch/dispatch.service.ts";
import type { Reading } from "../dispatch/reading.ts";
import type { ProviderAnswer } from "../providers/exchange/provider-answer.ts";
import { mergePreferences, type RoutingPreferences } from "../routing/routing-preferences.ts";
import type { AnsweredImages } from "./image-answer.ts";
import type { ImageRequest } from "./image-request.ts";

const PATHS = { "text-to-image": "/images/generations", "image-editing": "/images/edits" } as const;
const MAX_ANSWER_BYTES = 64 * 1_048_576;

type Dependencies = {
  readonly admission: AdmissionService;
  readonly exchanges: DispatchService;
  readonly bodies: Bodies & Pick<BodyPool, "readGenerated" | "readImages" | "hashImages">;
};

/** Generated images: the provider's own bytes with `x_0g_trace` appended. */
export type ImageAnswer = ShownAnswer;

/** Generates images synchronously. Each returned image is charged once, at the price per image. */
export class ImagesService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns images once their bill is committed. Throws what admission throws, `provider_error` when no provider
   * returns any, and the provider's own reason when it rejects the request.
   */
  create(
    request: ImageRequest,
    caller: Caller,
    { signal, preferences }: { readonly signal: AbortSignal; readonly preferences: RoutingPreferences },
  ): Promise<ImageAnswer> {
    return this.#dependencies.exchanges.track(this.#create(request, caller, signal, preferences));
  }

  /** The images of an answer that `create` returned. Throws `unavailable`. */
  read(body: Buffer): Promise<AnsweredImages> {
    return this.#dependencies.bodies.readImages(body.toString("utf8"));
  }

  async #create(
    request: ImageRequest,
    caller: Caller,
    signal: AbortSignal,
    preferences: RoutingPreferences,
  ): Promise<ImageAnswer> {
    const { admission, exchanges, bodies } = this.#dependencies;
    const admitted = await admission.admit(imageAdmissionRequest(request, preferences), caller);
    return exchanges.collect(admitted, PATHS[request.serviceType], {
      contentType: request.contentType,
      signal,
      maxBytes: MAX_ANSWER_BYTES,
      read: (whole) => readImages(whole, request.count, bodies),
    });
  }
}

/** The admission of an image request: the hold is the number of images times the price per image. */
export function imageAdmissionRequest(
  request: ImageRequest,
  preferences: RoutingPreferences,
): AdmissionRequest {
  const { model, serviceType, count } = request;
  return {
    model,
    serviceType,
    format: "openai",
    preferences: mergePreferences(request.preferences, preferences),
    verifyTee: request.verifyTee,
    guarded: request.guarded,
    quote: (price) => quoteUnits(imageUnits(count), price),
    body: (provider) => request.bodyFor(provider),
  };
}

/** The billed units for `count` images. */
function imageUnits(count: number): UnitUsage {
  return { inputUnits: 0, outputUnits: count };
}

/**
 * Validates an image answer, of which at most `requested` images are billed. Throws a `ProviderFailure` for an answer
 * without images, and the provider's reason when it blames the request.
 */
async function readImages(
  answer: ProviderAnswer,
  requested: number,
  bodies: Dependencies["bodies"],
): Promise<Reading> {
  let images: number | undefined;
  const fields = await readAnswerObject(answer, {
    parseAnswer: async (body) => {
      const read = await bodies.readGenerated(body);
      images = read.images;
      return read.fields;
    },
  });
  if (images === undefined) throw emptyAnswer("The provider's answer has no images.");
  const usage = imageUnits(Math.min(images, requested));
  const imageHashes = () => bodies.hashImages(answer.body.toString("utf8"));
  const hasUsage = typeof fields.usage === "object" && fields.usage !== null;
  const edits = await bodies.findEdits(answer.body, { members: {}, showsCost: hasUsage });
  return { usage, estimated: false, answerId: answerIdOf(fields), imageHashes, edits };
}
