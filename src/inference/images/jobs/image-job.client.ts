import { AppError } from "../../../kernel/errors.ts";
import type { MemoryBudget } from "../../../load/memory-budget.ts";
import type { CatalogueService } from "../../providers/catalogue.service.ts";
import { ExchangeHasher, type ExchangeHashes } from "../../providers/exchange/exchange-hasher.ts";
import type { PostOptions, ProviderClient } from "../../providers/exchange/provider.client.ts";
import { gatherAnswer, type ProviderAnswer, refusalOf } from "../../providers/exchange/provider-answer.ts";
import type { ProviderExchange, ProviderListener } from "../../providers/exchange/provider-exchange.ts";
import { ProviderFailure } from "../../providers/exchange/provider-failure.ts";
import type { HealthService } from "../../providers/health/health.service.ts";
import type { Provider } from "../../providers/provider.ts";
import type { ImageRequest } from "../image-request.ts";
import { type ImageOperation, isServed } from "./image-job-plan.ts";

type Dependencies = {
  readonly providers: ProviderClient;
  readonly catalogue: Pick<CatalogueService, "provider">;
  readonly health: Pick<HealthService, "begin">;
  readonly memory: Pick<MemoryBudget, "open">;
  /** How long a provider may be silent in a poll, milliseconds. Defaults to 30 s. */
  readonly silenceMs?: number;
};

/** A provider's answer, with the hashes of the exchange; undefined if it could not be reached or did not answer. */
export type JobAnswer = (ProviderAnswer & { readonly hashes: ExchangeHashes }) | undefined;

const SILENCE_MS = 30_000;
const MAX_IMAGES_BYTES = 64 * 1_048_576;
/** Statuses of a broker without asynchronous jobs. */
const HAS_NO_JOBS: ReadonlySet<number> = new Set([404, 405, 501]);

/** The client for image jobs at providers (facts 2.1). Never throws for a provider's failure. */
export class ImageJobClient {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Submits a job to a provider with an idempotency key, for at most `leftMs`. A provider without jobs receives a
   * synchronous request instead, and answers with the images.
   */
  async submit(
    address: string,
    operation: ImageOperation,
    given: {
      readonly request: ImageRequest;
      readonly key: string;
      readonly signal: AbortSignal;
      readonly leftMs: number;
    },
  ): Promise<JobAnswer> {
    const provider = this.#dependencies.catalogue.provider(address);
    if (!provider) return undefined;
    const { request, key, leftMs } = given;
    // Later images would not be paid for: the hold of the job ends soon after its deadline.
    const deadline = AbortSignal.timeout(Math.max(0, Math.ceil(leftMs)));
    const signal = AbortSignal.any([given.signal, deadline]);
    const body = request.bodyFor(provider);
    const options = { contentType: request.contentType, headers: { "idempotency-key": key } };
    const trial = this.#dependencies.health.begin(provider);
    const post = (path: `/${string}`, more: PostOptions = {}) =>
      this.#gather(signal, (listener, hasher) =>
        this.#dependencies.providers.post(provider, path, body, listener, { ...options, ...more, hasher }),
      );
    try {
      const answer = hasJobs(provider) ? await post(`/async/images/${operation}`) : undefined;
      const known =
        answer && !HAS_NO_JOBS.has(answer.status) ? answer : await post(`/images/${operation}`, SYNCHRONOUS);
      const refusal = isServed(known.status) ? undefined : refusalOf(known, known.body);
      if (refusal instanceof ProviderFailure) trial.fail(refusal);
      else trial.succeed();
      return known;
    } catch (error) {
      if (error instanceof ProviderFailure && !signal.aborted) trial.fail(error);
      else trial.drop();
      return nothingFrom(error);
    }
  }

  /**
   * Polls the status of a job at its provider for at most `leftMs`. As long as bytes arrive, a poll takes its time: it
   * may be the images, which are 64 MiB at most, and no other provider has them.
   */
  async poll(
    address: string,
    providerJobId: string,
    {
      model,
      signal,
      leftMs,
    }: { readonly model: string; readonly signal: AbortSignal; readonly leftMs: number },
  ): Promise<JobAnswer> {
    const { catalogue, providers, silenceMs = SILENCE_MS } = this.#dependencies;
    const provider = catalogue.provider(address);
    if (!provider) return undefined;
    const path =
      `/async/jobs/${encodeURIComponent(providerJobId)}?model=${encodeURIComponent(model)}` as const;
    const limits = { totalMs: leftMs, firstByteMs: silenceMs, silenceMs };
    const get = (listener: ProviderListener, hasher: ExchangeHasher) =>
      providers.get(provider, path, listener, { ...limits, hasher });
    return this.#gather(signal, get).catch(nothingFrom);
  }

  async #gather(
    signal: AbortSignal,
    begin: (listener: ProviderListener, hasher: ExchangeHasher) => Promise<ProviderExchange>,
  ): Promise<NonNullable<JobAnswer>> {
    const hasher = new ExchangeHasher();
    const { memory } = this.#dependencies;
    const limits = { signal, maxBytes: MAX_IMAGES_BYTES, memory };
    const answer = await gatherAnswer((listener) => begin(listener, hasher), limits);
    hasher.end();
    return { ...answer, hashes: await hasher.hashes };
  }
}

/** Images that are generated synchronously have the whole deadline of a provider for the response head. */
const SYNCHRONOUS: PostOptions = { firstByteMs: 0 };

function hasJobs({ source }: Provider): boolean {
  return source === "chain";
}

function nothingFrom(error: unknown): undefined {
  if (error instanceof AppError) return undefined;
  throw error;
}
