import { matchesGlob } from '@acc/contract';
import { noLayers, notRounded } from './errors.js';
import type { QuantizableLayer } from './quantizable-layers.js';

const matches = ({ name, path }: QuantizableLayer, glob: string): boolean =>
  matchesGlob(name, glob) || matchesGlob(path, glob);

/** The options that choose layers. */
export interface LayerGlobs {
  readonly layers?: readonly string[] | undefined;
  readonly exclude: readonly string[];
}

/** @throws AccError `ACC_QUANTIZE_LAYERS` for a glob that matches nothing, and if no layer is left. */
export function chosenLayers(
  caller: string,
  all: readonly QuantizableLayer[],
  { layers, exclude }: LayerGlobs,
): QuantizableLayer[] {
  const names = all.map(({ name }) => name);
  for (const glob of [...(layers ?? []), ...exclude]) {
    if (!all.some((layer) => matches(layer, glob))) throw noLayers(caller, glob, names);
  }
  const chosen = all.filter(
    (layer) =>
      (!layers || layers.some((glob) => matches(layer, glob))) &&
      !exclude.some((glob) => matches(layer, glob)),
  );
  if (chosen.length === 0) throw noLayers(caller, undefined, names);
  return chosen;
}

/** @throws AccError `ACC_INVALID_OPTION` for layers whose input is not rounded. */
export function requireProducts(
  caller: string,
  activations: 'dynamic' | 'static',
  chosen: readonly QuantizableLayer[],
): void {
  const others = chosen.filter((layer) => !roundsInput(layer, activations)).map(({ name }) => name);
  if (others.length > 0) throw notRounded(caller, activations, others);
}

/** A scale for each row needs a product of rows, one for all values needs a product or a convolution. */
function roundsInput({ isProduct, className }: QuantizableLayer, activations: 'dynamic' | 'static'): boolean {
  return isProduct || (activations === 'static' && className.startsWith('Conv'));
}
