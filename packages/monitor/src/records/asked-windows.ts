import { files, join } from '@acc/platform';

/** The most steps of a window that a page may ask for: each has all its operators. */
export const MOST_STEPS = 20;
/** Places in shared memory; see `asks-script.ts`. */
const FROM = 0;
const STEPS = 1;
const ID = 2;
const WORDS = 3;

/** A window of steps that `acc monitor` has asked for. It begins with the end of the step that has just ended. */
export interface AskedWindow {
  readonly steps: number;
  /** For the traces of all ranks. */
  readonly folder: string;
  /** Called once, with what the page shows beside the trace, or why there is none. */
  tell(outcome: WindowOutcome): void;
}

/** Times are in milliseconds since 1970. */
export type WindowOutcome =
  | { readonly state: 'failed'; readonly message: string }
  | { readonly state: 'late'; readonly step: number }
  | {
      readonly state: 'done';
      readonly begin: number;
      /** The ends of the steps. */
      readonly ends: readonly number[];
      /** The memory of tensors by owner. Undefined on a GPU. */
      readonly memory: object | undefined;
    };

/** Windows that the thread of the records hands to the training. */
export class AskedWindows {
  readonly shared = new SharedArrayBuffer(4 * WORDS);
  readonly #words = new Int32Array(this.shared);
  #taken = 0;

  constructor(private readonly given: { readonly folder: string; readonly rank: number }) {}

  /**
   * Called at the end of each step: it reads one word of memory unless a window is asked for. All ranks begin
   * with the same step, without a word between them. One to which the request came too late says so.
   *
   * @returns The window that begins here. Undefined: none does.
   */
  take(step: number): AskedWindow | undefined {
    if (this.#words[ID] === this.#taken) return undefined;
    const id = Atomics.load(this.#words, ID);
    const [from, steps] = [Atomics.load(this.#words, FROM), Atomics.load(this.#words, STEPS)];
    // Zero, or another one: the request is being replaced.
    if (id === 0 || Atomics.load(this.#words, ID) !== id || step < from) return undefined;
    this.#taken = id;
    const { folder: insight, rank } = this.given;
    const folder = join(insight, 'windows', String(id));
    const tell = (outcome: WindowOutcome) => answer(folder, rank, outcome);
    if (step === from) return { steps, folder, tell };
    tell({ state: 'late', step });
    return undefined;
  }
}

/** A page that gets no answer says so, so a full disk costs the training nothing. */
function answer(folder: string, rank: number, outcome: WindowOutcome): void {
  try {
    files.makeFolder(folder);
    files.replace(join(folder, `rank-${rank}.json`), JSON.stringify({ rank, ...outcome }));
  } catch {
    return;
  }
}
