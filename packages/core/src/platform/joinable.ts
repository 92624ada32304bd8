export { Joinable } from '../join/joinable.js';
