// Makes one call and reports its error. Arguments: the verb, the rank that has the data, the time
// limit of a collective in milliseconds, the number of floats, the patience of the group.
import type { AccError } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge, type Patience } from '@acc/collective';
import { tensorFrom } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const verb = process.argv[2] as 'message' | 'broadcast' | 'reduceScatter';
const [root, timeoutMs, floats] = process.argv.slice(3, 6).map(Number) as [number, number, number];
const patience = JSON.parse(process.argv[6]!) as Partial<Patience>;
const started = startedRank();
const joined = await joinGroup({
  ...started,
  isOneHost: false,
  engine: 'gloo',
  timeoutMs,
  joinTimeoutMs: 60_000,
  ...patience,
});
const collective = new GroupCollective({ joined, bridge: nativeBridge });
const x = tensorFrom(new Float32Array(floats), 'float32', [floats]);
const other = 1 - started.rank;
const begun = Date.now();
try {
  console.log('under way');
  if (verb === 'broadcast') collective.broadcast(x, root).dispose();
  else if (verb === 'reduceScatter') collective.reduceScatter(x).dispose();
  else if (started.rank === root) collective.send(x, other);
  else collective.recv(other).dispose();
} catch (error) {
  const { code, message } = error as AccError;
  reportResult({ code, message, ms: Date.now() - begun });
}
collective.close();
