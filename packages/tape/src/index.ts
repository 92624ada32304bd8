export { checkpoint } from './activation-checkpointing/checkpoint.js';
export { checkpointLayers } from './activation-checkpointing/checkpoint-layers.js';
export {
  forwardRanksOf,
  installGradientDriver,
  type BackwardSession,
  type DriverHooks,
} from './gradient-driver/driver.js';
export type { FindRanks, ForwardRanks } from './gradient-driver/forward-ranks.js';
export { freeSaved } from './gradient-driver/packed-tensors.js';
export { currentPass, type PassContext } from './gradient-driver/pass-context.js';
export { tapeParticipants, type TapeParticipants } from './gradient-driver/tape-participants.js';
export { runForward } from './gradient-driver/taped-forward.js';
export { describe, containsTensors, mapLeaves, mapNested, type Nested } from './nested.js';
