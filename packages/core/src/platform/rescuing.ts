export { Rescuing } from '../state/rescuing.js';
