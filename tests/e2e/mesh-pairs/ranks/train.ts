// Trains models on meshes of this job's ranks, one after the other. Returns the code of what is refused.
import { isAccError } from '@acc/contract';
import { train, type Case, type Trained } from '../train.js';

export interface Args {
  readonly cases: readonly Case[];
  /** Of checkpoints. */
  readonly folder: string;
}

const EXPECTED = ['ACC_CHECKPOINT_MISMATCH', 'ACC_STRATEGY_CANNOT'];

export default async function trainCases({ cases, folder }: Args): Promise<(Trained | string)[]> {
  const results: (Trained | string)[] = [];
  for (const given of cases) {
    try {
      results.push(await train(given, folder));
    } catch (error) {
      if (!isAccError(error) || !EXPECTED.includes(error.code)) throw error;
      results.push(error.code);
    }
  }
  return results;
}
