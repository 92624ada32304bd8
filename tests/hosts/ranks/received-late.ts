// Rank 1 sends two messages and is killed. Rank 0 waits for the second one after it has learnt that, and
// reports what it has received.
import { isAccError } from '@acc/contract';
import { GroupCollective, joinGroup, nativeBridge } from '@acc/collective';
import { tensorFrom } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const started = startedRank();
const joined = await joinGroup({ ...started, isOneHost: false, engine: 'gloo', timeoutMs: 240_000 });
const collective = new GroupCollective({ joined, bridge: nativeBridge });
const pair = (a: number, b: number) => tensorFrom(Float32Array.of(a, b), 'float32', [2]);
// Only later messages of a slot are received before they are waited for.
const slot = 'pair';

if (started.rank === 1) {
  collective.send(pair(1, 2), 0, { slot });
  collective.send(pair(3, 4), 0, { slot });
  collective.broadcast(pair(0, 0), 1).dispose();
  process.kill(process.pid, 'SIGKILL');
}
collective.recv(1, { slot }).dispose();
const second = collective.recvAsync(1, { slot });
collective.broadcast(pair(0, 0), 1).dispose();
let code = 'none';
try {
  for (;;) collective.allReduce(pair(0, 0)).dispose();
} catch (error) {
  if (isAccError(error)) code = error.code;
}
const received = second.wait();
reportResult({ code, received: Array.from(received.read() as Float32Array) });
received.dispose();
collective.close();
