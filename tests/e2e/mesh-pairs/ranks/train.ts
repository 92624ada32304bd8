// Trains models on meshes of this job's ranks, one after the other. The arguments are a list of cases,
// as JSON, and a folder of checkpoints. Reports the code of what is refused.
import { isAccError } from '@acc/contract';
import { reportResult } from '@acc/testkit';
import { train, type Case, type Trained } from '../train.js';

const EXPECTED = ['ACC_CHECKPOINT_MISMATCH', 'ACC_STRATEGY_CANNOT'];
const [cases, folder] = process.argv.slice(2) as [string, string];
const results: (Trained | string)[] = [];
for (const given of JSON.parse(cases) as Case[]) {
  try {
    results.push(await train(given, folder));
  } catch (error) {
    if (!isAccError(error)) throw error;
    results.push(EXPECTED.includes(error.code) ? error.code : fail(error));
  }
}
reportResult(results);

function fail(error: Error): never {
  throw error;
}
