/** The result of one check. `not_checked`: something that it needs was not given, or proves nothing here. */
export type Check = {
  readonly id: string;
  /** What was checked, for people. */
  readonly title: string;
  readonly result: "passed" | "failed" | "not_checked";
  /** What the result means, a sentence. */
  readonly reason: string;
};

/** What a check found, before it is named. */
export type Finding = Pick<Check, "result" | "reason">;

export const passed = (reason: string): Finding => ({ result: "passed", reason });
export const failed = (reason: string): Finding => ({ result: "failed", reason });
export const notChecked = (reason: string): Finding => ({ result: "not_checked", reason });

/** Runs a check on an untrusted bundle: one on which the check throws has failed it. */
export async function check(
  id: string,
  title: string,
  run: () => Finding | Promise<Finding>,
): Promise<Check> {
  try {
    return { id, title, ...(await run()) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { id, title, ...failed(`This part of the bundle is malformed: ${reason}.`) };
  }
}
