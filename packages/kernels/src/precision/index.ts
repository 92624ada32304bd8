export { cast, castGradient, castKernel } from './cast.js';
