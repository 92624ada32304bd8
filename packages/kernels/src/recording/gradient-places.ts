import { engineInternals, patch, type TapeNode, type Undo } from '@acc/tfjs-internals';
import type { SourcePlaces } from './source-places.js';

/**
 * Gives calls in the gradient of an operator the place of that operator. Operators that are put on
 * the tape from now on, until the returned function is called, note the place of their last call.
 */
export function placeGradients(places: SourcePlaces): Undo {
  const engine = engineInternals();
  return patch(engine, 'addTapeNode', 'recording', (own) => (...args) => {
    own.apply(engine, args);
    const node = engine.state.activeTape?.at(-1);
    if (node?.gradient) placeGradient(node, places);
  });
}

function placeGradient(node: { gradient?: TapeNode['gradient'] }, places: SourcePlaces): void {
  const place = places.last;
  const gradient = node.gradient!;
  node.gradient = (dys, asked) => {
    const functions = places.inGradient(place, () => gradient(dys, asked));
    const placed = Object.entries(functions).map(
      ([name, compute]) => [name, () => places.inGradient(place, compute)] as const,
    );
    return Object.fromEntries(placed);
  };
}
