export { TENSORFLOW_LAYER } from './layer.js';
