// The host reads memory of a device, as code does that takes every tensor for one of the CPU.
import { operatorWithResults, setDefaultDevice, operator } from '@acc/native';
import { loadLateDevice } from './late-device.js';

loadLateDevice();
setDefaultDevice('late:0');
using made = operator('aten::ones')([3, 5]);
operatorWithResults('late::touch')(made);
