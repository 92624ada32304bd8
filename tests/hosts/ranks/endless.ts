// Runs all-reduce until an error occurs, which it reports. Arguments: the engine, the time limit of
// a collective in milliseconds, the number of floats, the patience of the group.
import type { AccError } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge, type Patience } from '@acc/collective';
import { tensorFrom } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const engine = process.argv[2] as 'gloo' | 'hierarchical';
const [timeoutMs, floats] = process.argv.slice(3, 5).map(Number) as [number, number];
const patience = JSON.parse(process.argv[5] ?? '{}') as Partial<Patience>;
const joined = await joinGroup({
  ...startedRank(),
  isOneHost: false,
  engine,
  timeoutMs,
  joinTimeoutMs: 60_000,
  ...patience,
});
const collective = new GroupCollective({ joined, bridge: nativeBridge });
const x = tensorFrom(new Float32Array(floats), 'float32', [floats]);
const began = Date.now();
let isFar = '';
let start = began;
try {
  for (let step = 0; ; step++) {
    start = Date.now();
    collective.allReduce(x).dispose();
    if (step === 20) console.log('under way');
    if (Date.now() - began > 8_000 && !isFar) console.log((isFar = 'far on'));
  }
} catch (error) {
  const { code, message } = error as AccError;
  reportResult({ code, message, ms: Date.now() - start });
}
collective.close();
