import type { RunStatus } from '@acc/contract';
import { checkTracker, identifyRun, TrackerBus, type TrackersState } from '@acc/tracker';
import type { ResolvedCoordinatorOptions } from './options.js';
import { figuresOf, type RoundRecord } from './round-record.js';

/** Records rounds with the trackers of the options. The step is the number of the round. */
export class Recording {
  readonly #bus = new TrackerBus({ rank: 0, size: 1 });
  readonly #options: ResolvedCoordinatorOptions;

  constructor(options: ResolvedCoordinatorOptions) {
    this.#options = options;
  }

  /**
   * @param saved The trackers' state in the checkpoint from which the run continues.
   * @throws AccError as `TrackerBus.start`.
   */
  async start(saved: TrackersState | undefined): Promise<void> {
    const { trackers, project = 'federated', projectDir = '.' } = this.#options;
    if (!trackers) return;
    if (saved) this.#bus.setState(saved);
    const identity = identifyRun(project, {}, { projectDir, loaded: this.#bus.loaded });
    const checked = trackers.map((tracker) => ({ tracker: checkTracker('trackers', tracker) }));
    await this.#bus.start({ identity, config: configOf(this.#options), projectDir, trackers: checked });
  }

  log(record: RoundRecord, metrics: Readonly<Record<string, number>>): void {
    if (this.#bus.isRunning) this.#bus.log({ ...figuresOf(record), ...metrics }, { step: record.round });
  }

  get state(): TrackersState {
    return this.#bus.getState();
  }

  finish(status: RunStatus): Promise<void> {
    return this.#bus.finish(status);
  }
}

/** The options that decide on the result. Undefined ones are left out by trackers. */
function configOf(options: ResolvedCoordinatorOptions): Record<string, number | string | undefined> {
  const { rounds, seed, clientsPerRound, fraction, minClients, enoughClients, deadlineMs } = options;
  const { aggregate, trimRatio, clipUpdateNorm, proximalMu, maxSamples, compression } = options;
  const name = typeof aggregate === 'function' ? aggregate.name || 'a function' : aggregate;
  return {
    ...{ rounds, seed, clientsPerRound, fraction, minClients, enoughClients, deadlineMs, aggregate: name },
    ...{ trimRatio, clipUpdateNorm, proximalMu, maxSamples, compression },
  };
}
