export { cutSequences } from '../sequence-piece.js';
