import { aroundGradient, engineInternals, patch, type Undo } from '@acc/tfjs-internals';
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
    const place = places.last;
    if (node) aroundGradient(node, (compute) => places.inGradient(place, compute));
  });
}
