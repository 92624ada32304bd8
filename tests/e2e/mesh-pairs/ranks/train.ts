// Trains models on meshes of this job's ranks, one after the other. The arguments are a list of cases,
// as JSON, and a folder of checkpoints. Reports the code of what is refused.
import { isAccError } from '@acc/contract';
import { reportResult } from '@acc/testkit';
import { train, type Case, type Trained } from '../train.js';

const [cases, folder] = process.argv.slice(2) as [string, string];
const results: (Trained | string)[] = [];
for (const given of JSON.parse(cases) as Case[]) {
  try {
    results.push(await train(given, folder));
  } catch (error) {
    if (!isAccError(error)) throw error;
    results.push(error.code === 'ACC_CHECKPOINT_MISMATCH' ? error.code : fail(error));
  }
}
reportResult(results);

function fail(error: Error): never {
  throw error;
}
