export {
  dropRescues,
  findRescue,
  type FoundRescue,
  type Rescue,
  type RescueHost,
} from '../rescue/find-rescue.js';
export { RunSnapshot } from '../rescue/run-snapshot.js';
export { receiveRescue } from '../rescue/receive-rescue.js';
export { megabytes, rescueMemory } from '../rescue/memory.js';
export { isFirstRefusal, writeRescue, type Keeper } from '../rescue/write-rescue.js';
