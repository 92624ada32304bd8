// Runs before each test file. Code that registers the backend later without a device then uses this
// one.
import { registerAccBackend } from '@acc/kernels';
import { setDefaultDevice } from '@acc/native';
import { loadLateDevice, setDelays } from './late-device.js';

loadLateDevice();
const seed = process.env['ACC_LATE_SEED'];
if (seed !== undefined) setDelays(Number(seed), 200);
setDefaultDevice('late:0');
registerAccBackend({ device: 'late:0' });
