import { files, join } from '@acc/platform';
import { diagnose, readRecords, type Finding, type RecordedRun } from '@acc/records';

/** The first look. Each later one is after twice the time, so that looks take less and less of it. */
const FIRST_MS = 30_000;
/** Steps of each rank that a look is about, and samples of the same time if a step takes up to a second. */
const STEPS = 2000;
const SAMPLES = 4 * STEPS;
/** Longer records take long to read. `acc diagnose` reads them outside of the training. */
const MOST_BYTES = 16 * 2 ** 20;
/** Alerts tell of these at once. */
const TOLD_BY_ALERTS: readonly string[] = ['non-finite', 'loss-spike', 'slow-rank', 'hang'];

export interface LiveDiagnosisOptions {
  /** Called once for each cause. */
  readonly tell: (message: string, step: number) => void;
  /** Returns the time in milliseconds. */
  readonly now?: () => number;
}

/** Looks for causes that hold a training back while it runs, and tells the critical ones, once each. */
export class LiveDiagnosis {
  readonly #options: LiveDiagnosisOptions;
  readonly #now: () => number;
  readonly #told = new Set<string>();
  #begin: number | undefined;
  #afterMs = FIRST_MS;
  #look: Promise<void> | undefined;

  constructor(options: LiveDiagnosisOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Begins a look if it is time. It goes on when the event loop runs, and never fails.
   *
   * @param folder The folder of the run.
   * @returns Settled when the look is over.
   */
  step(folder: string | undefined, step: number): Promise<void> | undefined {
    const now = this.#now();
    this.#begin ??= now;
    if (folder === undefined || this.#look || now - this.#begin < this.#afterMs) return undefined;
    this.#afterMs *= 2;
    this.#look = this.#lookAt(join(folder, 'insight'), step).finally(() => (this.#look = undefined));
    return this.#look;
  }

  async #lookAt(folder: string, step: number): Promise<void> {
    try {
      const bytes = files.list(folder).map(({ name }) => files.look(join(folder, name))?.bytes ?? 0);
      if (bytes.reduce((sum, each) => sum + each, 0) > MOST_BYTES) return;
      const { findings } = await diagnose(lastPart(await readRecords(folder)));
      for (const finding of findings) this.#tell(finding, folder, step);
    } catch {
      // There are no records yet, or they cannot be read. The recorder has said so.
    }
  }

  #tell({ id, severity, share, cause, advice, change }: Finding, folder: string, step: number): void {
    if (severity !== 'critical' || this.#told.has(id) || TOLD_BY_ALERTS.includes(id)) return;
    this.#told.add(id);
    const costs = share > 0 ? `, ${(100 * share).toFixed(0)} %` : '';
    const option = change ? ` Change ${change.option} to ${JSON.stringify(change.to)}.` : '';
    const more = `acc diagnose ${folder} has the figures.`;
    this.#options.tell(`${id}${costs}: ${cause} ${advice}${option} ${more}`, step);
  }
}

/** The last steps of a run, which is then judged as one that was resumed. */
function lastPart({ ranks, problems }: RecordedRun): RecordedRun {
  const last = ranks.map(({ steps, samples, resumedAt = 0, ...rank }) => ({
    ...rank,
    steps: steps.slice(-STEPS),
    samples: samples.slice(-SAMPLES),
    resumedAt: Math.max(0, resumedAt - Math.max(0, steps.length - STEPS)),
  }));
  return { ranks: last, problems };
}
