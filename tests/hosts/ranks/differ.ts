// Runs all-reduce with the same number of floats on all ranks, and then with a different number.
// Arguments: the patience of the group, and that number for each rank.
import type { AccError } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge, type Patience } from '@acc/collective';
import { tensorFrom } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const engine = 'hierarchical';
const patience = JSON.parse(process.argv[2]!) as Partial<Patience>;
const joined = await joinGroup({ ...startedRank(), isOneHost: false, engine, ...patience });
const collective = new GroupCollective({ joined, bridge: nativeBridge });
const floats = Number(process.argv[3 + collective.rank]);
collective.allReduce(tensorFrom(new Float32Array(4), 'float32', [4])).dispose();
const began = Date.now();
try {
  collective.allReduce(tensorFrom(new Float32Array(floats), 'float32', [floats])).dispose();
  reportResult({ code: 'none' });
} catch (error) {
  const { code, message } = error as AccError;
  reportResult({ code, message, ms: Date.now() - began });
}
collective.close();
