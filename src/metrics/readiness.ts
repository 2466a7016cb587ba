/** Whether a process can serve requests. `parts` has `ok` for each part, or a short reason. */
export type Readiness = { readonly ready: boolean; readonly parts: Readonly<Record<string, string>> };

/** A part of the process: `required` ones decide readiness, the others are only reported. */
export type Part = {
  readonly required: boolean;
  /** Resolves if the part is healthy, with an optional remark; rejects if it is not. */
  check(): Promise<string | undefined>;
};

/** Why a part is not healthy, in a few words that are safe to publish. */
export class NotReadyError extends Error {
  override readonly name = "NotReadyError";
}

const CHECK_MS = 2_000;

/** Checks every part concurrently, within 2 s. Only the message of a `NotReadyError` is published. */
export async function readinessOf(parts: Readonly<Record<string, Part>>): Promise<Readiness> {
  const checked = await Promise.all(
    Object.entries(parts).map(async ([name, part]) => ({ name, part, ...(await check(part)) })),
  );
  return {
    ready: checked.every(({ part, isHealthy }) => isHealthy || !part.required),
    parts: Object.fromEntries(checked.map(({ name, text }) => [name, text])),
  };
}

async function check(part: Part): Promise<{ isHealthy: boolean; text: string }> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("late")), CHECK_MS);
  });
  try {
    return { isHealthy: true, text: (await Promise.race([part.check(), late])) ?? "ok" };
  } catch (error) {
    return { isHealthy: false, text: error instanceof NotReadyError ? error.message : "unreachable" };
  } finally {
    clearTimeout(timer);
  }
}
