export { AccBackend, BACKEND_NAME, type AccMemoryInfo } from './backend.js';
export { kernelLayerOf } from './kernel-layer.js';
export { registerAccBackend, type RegisterOptions } from './register-backend.js';
