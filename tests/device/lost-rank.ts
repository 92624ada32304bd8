// A stream waits for a collective to which the other rank does not come, or which its backend fails if
// the argument is `broken`. Prints what each call gives.
import { isAccError } from '@acc/contract';
import { operatorWithResults, ProcessGroup, setDefaultDevice, Store, tensorFrom } from '@acc/native';
import { freePort } from '@acc/testkit';
import { loadLateDevice, setDelays } from './late-device.js';

loadLateDevice();
setDefaultDevice('late:0');
setDelays(1, 200);

function outcome(run: () => unknown, told: 'code' | 'help' = 'code'): string {
  try {
    run();
    return 'returned';
  } catch (error) {
    return isAccError(error) ? String(error[told]) : String(error);
  }
}

const join = { host: '127.0.0.1', port: await freePort(), worldSize: 2, timeoutMs: 60_000 };
const stores: Store[] = [];
for (const isServer of [true, false]) stores.push(await Store.connect({ ...join, isServer }));
const patience = { noticeMs: 100, graceMs: 100, silenceMs: 500, deadlockMs: 1_000 };
const isBroken = process.argv[2] === 'broken';
// A backend that is broken says so at once, also on a machine that is busy for a second.
const options = { size: 2, timeoutMs: isBroken ? 120_000 : 1_000, joinTimeoutMs: 60_000, patience };
const spec = { engine: 'nccl', address: '127.0.0.1', streamWaits: true } as const;

async function firstOf(name: string): Promise<ProcessGroup> {
  const groups = stores.map((store, rank) => ProcessGroup.create(store, { ...options, name, rank }, spec));
  return (await Promise.all(groups))[0]!;
}

const [group, other] = [await firstOf('pair'), await firstOf('other')];
// Otherwise the store takes what this process asks of it for more than a rank may send.
for (const store of stores) store.closeDoor();
if (isBroken) operatorWithResults('late::fail_collectives')();
const x = tensorFrom(Float32Array.of(1), 'float32', [1]);
const y = tensorFrom(Float32Array.of(2), 'float32', [1]);
const waited = outcome(() => group.allReduce(x, x, 'sum').wait());
const read = outcome(() => x.read());
const innocent = outcome(() => y.read());
const help = outcome(() => y.read(), 'help');
const sum = outcome(() => other.allReduce(y, y, 'sum').wait());
const message = outcome(() => other.send(y, 1).wait());
console.log(JSON.stringify({ waited, read, innocent, help, sum, message }));
process.exit(0);
