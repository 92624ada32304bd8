export { freeActivations } from './free-activations.js';
export { fuseLayers } from './fuse-layers.js';
export { LAYER_GRADIENTS, LAYER_KERNELS } from './layer-kernels.js';
