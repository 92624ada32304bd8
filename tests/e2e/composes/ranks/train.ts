// Trains with combinations of features on this job's ranks, one after the other. Returns the code of what
// is refused.
import { isAccError } from '@acc/contract';
import type { Feature } from '../../../../packages/core/src/presets/composes.js';
import { train, type Trained } from '../train.js';

export interface Args {
  readonly combinations: readonly (readonly Feature[])[];
}

export default async function trainAll({ combinations }: Args): Promise<(Trained | string)[]> {
  const results: (Trained | string)[] = [];
  for (const features of combinations) {
    try {
      results.push(await train(features));
    } catch (error) {
      if (!isAccError(error)) throw error;
      results.push(error.code);
    }
  }
  return results;
}
