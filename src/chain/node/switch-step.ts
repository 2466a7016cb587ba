/** The kind of a check. */
export type CheckKind =
  | "file_exists"
  | "files_equal"
  | "process_stopped"
  | "port_listens"
  | "port_silent"
  | "rpc_result"
  | "heights_near"
  | "log_says";

/** A check that a step is done: `subject` must be as `expected`. */
export type StepCheck = { readonly kind: CheckKind; readonly subject: string; readonly expected: string };

/** A step of a procedure. In commands, the operator fills in the placeholders in braces. */
export type SwitchStep = {
  readonly order: number;
  /** A short, stable name. */
  readonly id: string;
  readonly title: string;
  readonly why: string;
  /** Undefined if it depends on how the node is run. */
  readonly command: string | undefined;
  /** All must pass before the next step. */
  readonly checks: readonly StepCheck[];
  /** Whether it deletes data that then exists only in a backup. */
  readonly isDestructive: boolean;
};

/** A step as written: its number, and what most steps do not have, are added by `numbered`. */
export type Step = Omit<SwitchStep, "order" | "isDestructive" | "command"> &
  Partial<Pick<SwitchStep, "isDestructive" | "command">>;

/** The steps of a procedure in order, from 1. */
export function numbered(steps: readonly Step[]): readonly SwitchStep[] {
  return steps.map((step, index) => ({
    command: undefined,
    isDestructive: false,
    ...step,
    order: index + 1,
  }));
}
