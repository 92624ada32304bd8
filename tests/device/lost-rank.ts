// A stream waits for a collective to which the other rank does not come. Prints what each call gives.
import { isAccError } from '@acc/contract';
import { ProcessGroup, setDefaultDevice, Store, tensorFrom } from '@acc/native';
import { freePort } from '@acc/testkit';
import { loadLateDevice, setDelays } from './late-device.js';

loadLateDevice();
setDefaultDevice('late:0');
setDelays(1, 200);

function outcome(run: () => unknown): string {
  try {
    run();
    return 'returned';
  } catch (error) {
    return isAccError(error) ? error.code : String(error);
  }
}

const join = { host: '127.0.0.1', port: await freePort(), worldSize: 2, timeoutMs: 60_000 };
const stores: Store[] = [];
for (const isServer of [true, false]) stores.push(await Store.connect({ ...join, isServer }));
const patience = { noticeMs: 100, graceMs: 100, silenceMs: 2_000, deadlockMs: 1_000 };
const options = { name: 'pair', size: 2, timeoutMs: 1_000, joinTimeoutMs: 60_000, patience };
const spec = { engine: 'nccl', address: '127.0.0.1', streamWaits: true } as const;
const [group] = await Promise.all(
  stores.map((store, rank) => ProcessGroup.create(store, { ...options, rank }, spec)),
);
// Otherwise the store takes what this process asks of it for more than a rank may send.
for (const store of stores) store.closeDoor();
const x = tensorFrom(Float32Array.of(1), 'float32', [1]);
const y = tensorFrom(Float32Array.of(2), 'float32', [1]);
const waited = outcome(() => group!.allReduce(x, x, 'sum').wait());
const read = outcome(() => x.read());
const innocent = outcome(() => y.read());
console.log(JSON.stringify({ waited, read, innocent }));
process.exit(0);
