/** Facts of a whole run, on one rank: a line of `facts-rank-<rank>.jsonl`. */
export interface Facts {
  readonly rank: number;
  /** The number of ranks of the job. */
  readonly ranks: number;
  readonly host: string;
  /** The process of this rank. Undefined in older records. */
  readonly pid?: number;
  /** Processors that this process may use. */
  readonly processors: number;
  /** Processors of the host. Undefined in older records. */
  readonly hostProcessors?: number;
  /** The processors that this process is bound to: `0-3,8`. Null: not known. */
  readonly boundTo?: string | null;
  /** Threads that compute operators. Null: not known. */
  readonly threads: number | null;
  /** Memory that this process may use. */
  readonly memoryBytes: number;
  readonly backend: string;
  readonly device: string;
  readonly strategy: string;
  /** The options of the Accelerator. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The command that started the job, in words of a shell. Undefined in older records. */
  readonly command?: string;
  /** The folder in which it was started. */
  readonly startedIn?: string;
  /** Where checkpoints are saved: a folder, or the address of a storage. */
  readonly checkpoints?: string;
  /** Where the program created the Accelerator: `train.ts:12:28`. Null: not known. */
  readonly createdAt: string | null;
}

/** More than any job has. The facts of a damaged file are passed over. */
const MOST_RANKS = 1 << 20;

/** The facts in a file, of the last run that was written to it. Undefined if it has none. */
export function parseFacts(text: string): Facts | undefined {
  for (const line of text.split('\n').toReversed()) {
    try {
      const facts = JSON.parse(line) as Facts;
      if (typeof facts.rank === 'number' && facts.ranks >= 1 && facts.ranks <= MOST_RANKS) return facts;
    } catch {
      // A process was killed while it wrote.
    }
  }
  return undefined;
}
