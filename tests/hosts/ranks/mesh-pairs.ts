// Runs the cases of the first argument, which is JSON, with the folder of checkpoints of the second one.
import { reportResult } from '@acc/testkit';
import type { Case } from '../../e2e/mesh-pairs/train.js';
import trainCases from '../../e2e/mesh-pairs/ranks/train.js';

const [cases, folder] = process.argv.slice(2) as [string, string];
reportResult(await trainCases({ cases: JSON.parse(cases) as Case[], folder }));
