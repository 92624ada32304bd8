import { engineInternals, patch } from '@acc/tfjs-internals';
import type { SourcePlaces } from './source-places.js';

export interface VariableChanges {
  /** The place at which a variable was first made or disposed; -1 for none. */
  readonly place: number;
  end(): void;
}

/** Notes where the program makes or disposes variables. */
export function watchVariables(places: SourcePlaces): VariableChanges {
  const engine = engineInternals();
  let place = -1;
  const note = () => {
    if (place < 0) place = places.peek();
  };
  const undos = [
    patch(engine, 'makeVariable', 'recording', (own) => (...args) => {
      note();
      return own.apply(engine, args);
    }),
    patch(engine, 'disposeVariable', 'recording', (own) => (variable) => {
      note();
      own.call(engine, variable);
    }),
  ];
  return {
    get place() {
      return place;
    },
    end() {
      for (const undo of undos.toReversed()) undo();
    },
  };
}
