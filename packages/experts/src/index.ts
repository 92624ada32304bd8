export { expertParallel } from './expert-parallel.js';
