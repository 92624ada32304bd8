import type { ReplayedCall } from '@acc/native';
import type { CallFacts } from '../fusion/call-facts.js';
import { ReplayTimes } from './replay-times.js';
import type { SourcePlaces } from './source-places.js';
import { profileLines } from './step-profile.js';

/** Collects the text of `explain` for a recording. */
export class StepExplanation {
  readonly times = new ReplayTimes();
  /** A report on the fused calls. Undefined until the recording is sealed. */
  #fused: readonly string[] | undefined;
  #facts: readonly CallFacts[] | undefined;

  constructor(private readonly places: SourcePlaces) {}

  /** @param facts Of the calls that replays run, if they are not those that were recorded. */
  sealed(lines: readonly string[], facts?: readonly CallFacts[]): void {
    this.#fused = lines;
    this.#facts = facts;
  }

  /**
   * @param timesOf Returns the calls of the sealed recording.
   * @param more Lines before those of times.
   */
  textOf(timesOf: () => readonly ReplayedCall[], device: string, more: readonly string[]): string {
    if (!this.#fused) return 'It is not replayed yet.';
    const { places, times } = this;
    const isLate = device === 'cpu' ? [] : [`Times are those of calls, whose work on ${device} ends later.`];
    const profile = profileLines({ calls: timesOf(), facts: this.#facts, places, times });
    return [...this.#fused, ...more, ...isLate, ...profile].join('\n');
  }
}
