/** The rows of a trace, from top to bottom. A span of one row contains those of the next that it caused. */
export const LANES = ['steps', 'phases', 'operators', 'collectives', 'garbage collection'] as const;
export type Lane = (typeof LANES)[number];

/** Work of one rank. Times are in milliseconds of `performance.now()`. */
export interface Span {
  readonly lane: Lane;
  readonly name: string;
  readonly start: number;
  readonly ms: number;
  readonly args?: Readonly<Record<string, string | number>>;
}

/** A trace with more operators and collectives than this is hard to open. */
const MOST_OPERATORS = 1_000_000;

/** The spans of a profile. */
export class Spans {
  readonly #all: Span[] = [];
  #operators = 0;
  /** The earliest begin of a span that was left out. */
  #leftOutFrom = Infinity;

  /**
   * @param isOn Whether spans are kept, for a trace.
   * @param most The number of operators and collectives that are kept.
   */
  constructor(
    readonly isOn: boolean,
    private readonly most = MOST_OPERATORS,
  ) {}

  /** The spans that are kept: if there were too many, those of whole steps. */
  get all(): readonly Span[] {
    const { end } = this;
    return this.isFull ? this.#all.filter(({ start, ms }) => start + ms <= end) : this.#all;
  }

  /** The end of the last step that is kept, if steps were left out; -Infinity if no step is kept. */
  get end(): number {
    if (!this.isFull) return Infinity;
    return this.#all.reduce((last, { lane, start, ms }) => {
      const isKept = lane === 'steps' && start + ms <= this.#leftOutFrom;
      return isKept ? Math.max(last, start + ms) : last;
    }, -Infinity);
  }

  /** Whether steps were left out. */
  get isFull(): boolean {
    return this.#leftOutFrom < Infinity;
  }

  add(lane: Lane, name: string, [start, end]: readonly [number, number], args?: Span['args']): void {
    if (!this.isOn) return;
    const isOperator = lane === 'operators' || lane === 'collectives';
    if (isOperator && this.#operators === this.most) {
      this.#leftOutFrom = Math.min(this.#leftOutFrom, start);
      return;
    }
    if (isOperator) this.#operators++;
    this.#all.push({ lane, name, start, ms: end - start, ...(args && { args }) });
  }
}
