export interface RoutingOptions {
  readonly experts: number;
  /** The most assignments that an expert takes. Undefined: all. */
  readonly capacity?: number | undefined;
}

/**
 * The routing of rows to experts. An *assignment* is one choice of one token: number k · tokens + t
 * is the k-th choice of token t. Rows are the assignments that are kept, sorted by expert. Within
 * an expert first choices come before second ones, and tokens keep their order, so that a full
 * expert drops later choices first (Lepikhin et al., "GShard", 2020, algorithm 1).
 */
export class Routing {
  readonly tokens: number;
  readonly topK: number;
  /** The assignments of each expert, with those that are dropped. */
  readonly assigned: readonly number[];
  /** The rows of each expert. */
  readonly counts: readonly number[];
  /** The assignment of each row. */
  readonly assignmentOf: Int32Array;
  /** The row of each assignment, -1 for one that is dropped. */
  readonly rowOf: Int32Array;

  /** @param choices The experts of each token, `[tokens, topK]`, best first. */
  constructor(choices: ArrayLike<number>, tokens: number, { experts, capacity = Infinity }: RoutingOptions) {
    this.tokens = tokens;
    this.topK = tokens === 0 ? 1 : choices.length / tokens;
    const assigned = new Array<number>(experts).fill(0);
    for (let i = 0; i < choices.length; i++) assigned[choices[i]!]!++;
    this.assigned = assigned;
    this.counts = assigned.map((count) => Math.min(count, capacity));
    const next = startsOf(this.counts);
    const ends = next.map((start, expert) => start + this.counts[expert]!);
    this.assignmentOf = new Int32Array(ends.at(-1)!);
    this.rowOf = new Int32Array(choices.length);
    for (let k = 0; k < this.topK; k++) {
      for (let t = 0; t < tokens; t++) {
        const expert = choices[t * this.topK + k]!;
        const isKept = next[expert]! < ends[expert]!;
        const assignment = k * tokens + t;
        this.rowOf[assignment] = isKept ? next[expert]! : -1;
        if (isKept) this.assignmentOf[next[expert]!++] = assignment;
      }
    }
  }

  get rows(): number {
    return this.assignmentOf.length;
  }

  /** The number of assignments that experts do not take. */
  get dropped(): number {
    return this.rowOf.length - this.rows;
  }
}

/** Where each of several ranges begins that follow each other. */
export function startsOf(counts: readonly number[]): number[] {
  let at = 0;
  return counts.map((count) => {
    const start = at;
    at += count;
    return start;
  });
}

/** The capacity of an expert: its equal share of all assignments, times `factor`, rounded up. */
export function capacityOf(tokens: number, topK: number, experts: number, factor: number): number {
  return Math.max(1, Math.ceil((factor * tokens * topK) / experts));
}
