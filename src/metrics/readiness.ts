/** Whether a process can serve. `parts` says of each part `ok`, or in a few words what is wrong. */
export type Readiness = { readonly ready: boolean; readonly parts: Readonly<Record<string, string>> };

/** A part of the process: `required` ones make it ready, the others are told only. */
export type Part = {
  readonly required: boolean;
  /** Resolves when it is well, with a remark if there is one; rejects when it is not. */
  check(): Promise<string | undefined>;
};

/** Why a part is not well, in a few words that everybody may read. */
export class NotReadyError extends Error {
  override readonly name = "NotReadyError";
}

const CHECK_MS = 2_000;

/** Looks at every part at once, for 2 s at the most. The reasons of failures stay inside, but for a `NotReadyError`. */
export async function readinessOf(parts: Readonly<Record<string, Part>>): Promise<Readiness> {
  const looked = await Promise.all(
    Object.entries(parts).map(async ([name, part]) => ({ name, part, ...(await look(part)) })),
  );
  return {
    ready: looked.every(({ part, isWell }) => isWell || !part.required),
    parts: Object.fromEntries(looked.map(({ name, said }) => [name, said])),
  };
}

async function look(part: Part): Promise<{ isWell: boolean; said: string }> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("late")), CHECK_MS);
  });
  try {
    return { isWell: true, said: (await Promise.race([part.check(), late])) ?? "ok" };
  } catch (error) {
    return { isWell: false, said: error instanceof NotReadyError ? error.message : "unreachable" };
  } finally {
    clearTimeout(timer);
  }
}
