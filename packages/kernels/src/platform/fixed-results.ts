export { portablePieces } from '../pieces/portable-pieces.js';
