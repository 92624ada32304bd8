// Trains models on meshes of this job's ranks, one after the other. The arguments are a list of cases,
// as JSON, and a folder of checkpoints.
import { reportResult } from '@acc/testkit';
import { train, type Case, type Trained } from '../train.js';

const [cases, folder] = process.argv.slice(2) as [string, string];
const results: Trained[] = [];
for (const given of JSON.parse(cases) as Case[]) results.push(await train(given, folder));
reportResult(results);
