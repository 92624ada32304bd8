import { medianLow } from '@acc/contract';
import { PHASES, type PhaseTimes } from './phases.js';

/** A phase is longer than on other ranks by so much of their median, and of a whole step. */
const LONGER = 1.1;
const OF_STEP = 0.03;

/** The phases of a rank that take longer than the median of all ranks. */
export function longerPhases(own: PhaseTimes, all: readonly PhaseTimes[]): string[] {
  return PHASES.map(({ id }) => id).filter((id) => {
    const middle = medianLow(all.map((times) => times[id]));
    return own[id] > LONGER * middle && own[id] - middle > OF_STEP * own.step;
  });
}
