// A choice of tests, each with its best reason.

/** How surely a change can break a test, the surest first. */
export const LEVELS = {
  /** It is changed itself, or it executed a changed function. */
  executed: 0,
  /** It executed a function that mentions a changed name; one level more for each constant between. */
  mentions: 1,
  /** It executed other functions of the changed file. */
  file: 6,
  /** Its record is missing, and it loads the changed file. */
  unrecorded: 7,
  /** It executed any function of the package. */
  suite: 8,
} as const;

export interface Chosen {
  readonly test: string;
  readonly level: number;
  readonly reason: string;
}

export class Choice {
  readonly #chosen = new Map<string, Chosen>();

  add(tests: Iterable<string>, level: number, reason: string): void {
    for (const test of tests) {
      const known = this.#chosen.get(test);
      if (!known || known.level > level) this.#chosen.set(test, { test, level, reason });
    }
  }

  /**
   * The most specific first: the surest reason, then unit tests, then tests that execute few
   * functions.
   */
  inOrder(kindOf: (test: string) => number, executedBy: (test: string) => number): Chosen[] {
    const keys = ({ test, level }: Chosen): number[] => [level, kindOf(test), executedBy(test)];
    return [...this.#chosen.values()].sort((a, b) => {
      const [x, y] = [keys(a), keys(b)];
      const at = x.findIndex((value, index) => value !== y[index]);
      return at < 0 ? Number(a.test > b.test) - Number(a.test < b.test) : x[at]! - y[at]!;
    });
  }
}
