export { AccBackend } from '../backend.js';
export { randomLayer } from '../random-layer.js';
export { registerAccBackend } from '../register-backend.js';
export { restoreWays, savedWays } from '../state/ways.js';
export { kernelChoices, shareKernelChoices } from '../tuning/tuning.js';
