export { expertParallel, type ExpertOptions } from './expert-parallel.js';
