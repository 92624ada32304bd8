// An index out of range on a stream that runs late. Prints what each later call gives.
import { operator, setDefaultDevice, tensorFrom } from '@acc/native';
import { loadLateDevice, setDelays } from './late-device.js';

loadLateDevice();
setDefaultDevice('late:0');
setDelays(1, 20_000);

function outcome(run: () => unknown): string {
  try {
    run();
    return 'returned';
  } catch (error) {
    return String(error);
  }
}

const x = tensorFrom(Float32Array.of(1, 2, 3), 'float32', [3]);
const index = tensorFrom(BigInt64Array.of(7n), 'int64', [1]);
const chosen: { read(): unknown }[] = [];
const call = outcome(() => chosen.push(operator('aten::gather')(x, 0, index)));
const read = outcome(() => chosen[0]!.read());
const innocent = outcome(() => operator('aten::neg')(x));
console.log(JSON.stringify({ call, read, innocent }));
process.exit(0);
