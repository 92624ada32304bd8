// Runs all-reduce with the same number of floats on all ranks, and then with a different number.
// Arguments: that number for each rank.
import type { AccError } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge } from '@acc/collective';
import { tensorFrom } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const engine = 'hierarchical';
const joined = await joinGroup({ ...startedRank(), isOneHost: false, engine });
const collective = new GroupCollective({ joined, bridge: nativeBridge });
const floats = Number(process.argv[2 + collective.rank]);
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
