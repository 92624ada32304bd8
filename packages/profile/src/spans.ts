/** The rows of a trace, from outside in. A span of one row contains those of the next that it caused. */
export type Lane = 'steps' | 'phases' | 'operators' | 'collectives' | 'garbage collection';

/** Work of one rank. Times are in milliseconds of `performance.now()`. */
export interface Span {
  readonly lane: Lane;
  readonly name: string;
  readonly start: number;
  readonly ms: number;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** More operators than this are not traced, so that the trace can be opened. */
const MOST_OPERATORS = 1_000_000;

/** The spans of a profile, in the order of their ends. */
export class Spans {
  readonly all: Span[] = [];
  #operators = 0;

  /** @param hasOperators Whether operators and collectives are kept, for a trace. */
  constructor(private readonly hasOperators: boolean) {}

  /** Whether later operators are left out. */
  get isFull(): boolean {
    return this.#operators >= MOST_OPERATORS;
  }

  add(lane: Lane, name: string, [start, end]: readonly [number, number], args?: Span['args']): void {
    if (lane === 'operators' || lane === 'collectives') {
      if (!this.hasOperators || this.isFull) return;
      this.#operators++;
    }
    this.all.push({ lane, name, start, ms: end - start, ...(args && { args }) });
  }
}
