import { files } from '@acc/platform';
import { MEMORY_OWNERS, type MemorySample } from './memory-owners.js';
import { Session, type ProfiledTraining } from './session.js';
import { writeTraces } from './trace.js';

/** A window of steps that somebody beside the training has asked for. */
export interface WindowRequest {
  /** The number of steps, from the end of the step that has just ended. */
  readonly steps: number;
  /** A folder for the traces of this rank. */
  readonly folder: string;
  /** Called once. */
  tell(outcome: WindowResult | { readonly state: 'failed'; readonly message: string }): void;
}

/** Times are in milliseconds since 1970. */
export interface WindowResult {
  readonly state: 'done';
  readonly begin: number;
  /** The ends of the steps. */
  readonly ends: readonly number[];
  /** Undefined on a GPU, where another allocator counts. */
  readonly memory: WindowMemory | undefined;
}

/** The memory of tensors in a window: samples at most every 0.2 ms, and more rarely in long ones. */
export interface WindowMemory {
  readonly owners: readonly string[];
  readonly at: readonly number[];
  /** The bytes of each owner at those times. */
  readonly bytes: readonly (readonly number[])[];
}

interface Surroundings {
  readonly rank: number;
  readonly size: number;
  readonly training: ProfiledTraining;
  /** Called when the window no longer observes. */
  readonly onEnd: () => void;
}

/** A picture has a few hundred columns of pixels. */
const MOST_SAMPLES = 2000;

/**
 * Profiles steps of a training that goes on. No error of it reaches the training, and it makes no
 * collective call: another rank may not take part.
 */
export class WatchedWindow {
  readonly session: Session;
  #isAwaitingGarbage = false;
  #hasEnded = false;

  constructor(
    private readonly request: WindowRequest,
    private readonly given: Surroundings,
  ) {
    const schedule = { wait: 0, warmup: 0, active: request.steps };
    this.session = new Session({ schedule, traceDir: request.folder }, given.training, true);
  }

  /** Ends it after its last step and one more turn of the event loop, or one more step if there is no turn. */
  afterStep(): void {
    if (this.session.ends.length < this.request.steps) return;
    if (this.#isAwaitingGarbage) {
      this.#finish();
      return;
    }
    this.#isAwaitingGarbage = true;
    void this.session.collectGarbageTimes().then(
      () => this.#finish(),
      () => this.#finish(),
    );
  }

  /** Ends it before its time. One that has all its steps is written. */
  cancel(message: string): void {
    if (this.#isAwaitingGarbage) {
      this.#finish();
      return;
    }
    if (!this.#end()) return;
    this.request.tell({ state: 'failed', message });
  }

  #finish(): void {
    if (!this.#end()) return;
    const { rank, size } = this.given;
    const { spans, memory, begin, ends } = this.session;
    const { end } = spans;
    const kept = memory.samples.filter(({ at }) => at <= end);
    try {
      files.makeFolder(this.request.folder);
      writeTraces(this.request.folder, { rank, size, spans: spans.all, memory: kept });
    } catch (error) {
      this.request.tell({ state: 'failed', message: (error as Error).message });
      return;
    }
    const held = kept.length > 0 ? thinned(kept) : undefined;
    this.request.tell({ state: 'done', begin: sinceEpoch(begin), ends: ends.map(sinceEpoch), memory: held });
  }

  /** @returns Whether it observed until now. */
  #end(): boolean {
    if (this.#hasEnded) return false;
    this.#hasEnded = true;
    this.session.end();
    this.given.onEnd();
    return true;
  }
}

const sinceEpoch = (at: number): number => performance.timeOrigin + at;

/** Of as many samples as a picture has columns, that with most bytes is kept. */
function thinned(samples: readonly MemorySample[]): WindowMemory {
  const group = Math.ceil(samples.length / MOST_SAMPLES);
  const kept: MemorySample[] = [];
  for (let i = 0; i < samples.length; i += group)
    kept.push(samples.slice(i, i + group).reduce((a, b) => (sum(b.bytes) > sum(a.bytes) ? b : a)));
  return {
    owners: MEMORY_OWNERS,
    at: kept.map(({ at }) => sinceEpoch(at)),
    bytes: kept.map(({ bytes }) => bytes),
  };
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
