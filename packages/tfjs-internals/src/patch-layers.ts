/**
 * The layers of patches, from tfjs's own method outwards: a patch of a later layer calls those of
 * earlier layers. Patches of one layer keep the order in which they were installed.
 */
export const PATCH_LAYERS = [
  // Sources of random numbers, and everything that lasts as long as an Accelerator.
  'seed',
  'pieces',
  'losses',
  'gradients',
  'unprepared optimizers',
  'prepared optimizer',
  'outermost operator',
  'packed values',
  // Variables whose values are elsewhere.
  'empty weights',
  'offloaded weights',
  'stored values',
  'local values',
  // Calls of layers, from those that compute in place of tfjs to those that change what goes in.
  'recurrent layers',
  'batch statistics',
  'fused layers',
  'sequence pieces',
  'fake quantization',
  'layer hooks',
  // Models, from single layers to whole trainings.
  'prepared model',
  'freed activations',
  'activation checkpoints',
  'fit',
  'first step',
  'validation',
  'turns',
  // A step, then the passes in it, then single operators.
  'recording',
  'side effects',
  'tape hooks',
  'autocast',
  'recomputation',
  'random operators',
  'initializers',
] as const;

export type PatchLayer = (typeof PATCH_LAYERS)[number];

/**
 * Layers whose patches depend on the method that they find: they leave it alone if somebody else
 * computes it. So they cannot be put below a patch that was there before them, unless it always calls
 * the method that it finds.
 */
const FIRST: ReadonlySet<PatchLayer> = new Set(['batch statistics', 'fused layers']);

export const mustComeFirst = (layer: PatchLayer): boolean => FIRST.has(layer);

/** Whether patches of the layer always call the method that they find. */
export const callsThrough = (layer: PatchLayer): boolean =>
  layer === 'layer hooks' || layer === 'fake quantization';

const ranks = new Map<PatchLayer, number>(PATCH_LAYERS.map((layer, rank) => [layer, rank]));

/** The position of a layer: those with higher ranks are around it. */
export const rankOf = (layer: PatchLayer): number => ranks.get(layer)!;
