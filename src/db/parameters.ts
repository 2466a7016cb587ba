/** The values of a statement's parameters, numbered in the order in which they are added. */
export class Parameters {
  readonly values: unknown[];

  /** `values` are those of the parameters from `$1` on. */
  constructor(...values: readonly unknown[]) {
    this.values = [...values];
  }

  /** The parameter that stands for a value. */
  add(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  /** A condition on a value; none if the value is undefined. */
  when<T>(value: T | undefined, condition: (parameter: string) => string): readonly string[] {
    return value === undefined ? [] : [condition(this.add(value))];
  }
}
