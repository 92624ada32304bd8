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

/** The spans of a profile, in the order of their ends. */
export class Spans {
  readonly all: Span[] = [];

  add(lane: Lane, name: string, [start, end]: readonly [number, number], args?: Span['args']): void {
    this.all.push({ lane, name, start, ms: end - start, ...(args && { args }) });
  }

  /** The time of phases and collectives that began at `start` or later. */
  msSince(start: number): number {
    return this.all
      .filter((span) => (span.lane === 'phases' || span.lane === 'collectives') && span.start >= start)
      .reduce((sum, { ms }) => sum + ms, 0);
  }
}
