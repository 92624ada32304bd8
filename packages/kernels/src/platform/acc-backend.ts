export { AccBackend } from '../backend.js';
export {
  assignPacked,
  assignRecords,
  packedLike,
  packedTensor,
  recordTensor,
  requireAcc,
  writeRecords,
} from '../packed/active-packed.js';
export { randomLayer } from '../random-layer.js';
export { registerAccBackend, registerAccBackendFor, registeredDevice } from '../register-backend.js';
export { restoreChoices, savedChoices } from '../state/choices.js';
export { kernelChoices, shareKernelChoices } from '../tuning/tuning.js';
