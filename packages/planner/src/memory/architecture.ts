/** The sizes of a transformer, on which its activations depend. */
export interface Architecture {
  /**
   * `gpt2`: layer normalisation, an MLP of two matrices with GELU. `llama`: RMS normalisation,
   * rotary embedding, an MLP of three matrices with SiLU.
   */
  readonly kind: 'gpt2' | 'llama';
  readonly layers: number;
  /** The width of a token between layers. */
  readonly hidden: number;
  readonly heads: number;
  /** The heads of keys and values; fewer than `heads` in grouped-query attention. */
  readonly kvHeads: number;
  readonly headDim: number;
  /** The inner width of an MLP. */
  readonly intermediate: number;
  readonly vocabulary: number;
  /** The longest sequence. */
  readonly positions: number;
  /** Whether the output head is the token embedding. */
  readonly isTied: boolean;
  /** Whether the projections of a Llama's attention have biases. */
  readonly hasAttentionBias: boolean;
  /** Whether the matrices of a Llama's MLP have biases. */
  readonly hasMlpBias: boolean;
}

/** More layers are a typing error, and would take all memory. */
export const MOST_LAYERS = 10_000;

/** A tensor of a model. */
export interface SizedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  /** The layer, or another part of the model, whose parameters are gathered together. */
  readonly unit: string;
  readonly isTrainable: boolean;
}

type Shapes = Readonly<Record<string, readonly number[]>>;

/** All parameters of the architecture, with shapes as in `transformers`. */
export function tensorsOf(architecture: Architecture): SizedTensor[] {
  const { kind, layers, hidden, vocabulary, positions, isTied } = architecture;
  const isGpt2 = kind === 'gpt2';
  const layer = isGpt2 ? gpt2Layer(architecture) : llamaLayer(architecture);
  const units: [unit: string, shapes: Shapes][] = [
    ['embedding', { tokens: [vocabulary, hidden], ...(isGpt2 && { positions: [positions, hidden] }) }],
    ...Array.from({ length: layers }, (_, i): [string, Shapes] => [`layers.${i}`, layer]),
    ['norm', { weight: [hidden], ...(isGpt2 && { bias: [hidden] }) }],
    ...(isTied ? [] : [['head', { weight: [vocabulary, hidden] }] as [string, Shapes]]),
  ];
  return units.flatMap(([unit, shapes]) =>
    Object.entries(shapes).map(([name, shape]) => ({
      name: `${unit}.${name}`,
      shape,
      unit,
      isTrainable: true,
    })),
  );
}

function gpt2Layer({ hidden: C, intermediate: I }: Architecture): Shapes {
  return {
    ...{ 'norm1.weight': [C], 'norm1.bias': [C], 'qkv.weight': [C, 3 * C], 'qkv.bias': [3 * C] },
    ...{ 'projection.weight': [C, C], 'projection.bias': [C], 'norm2.weight': [C], 'norm2.bias': [C] },
    ...{ 'expand.weight': [C, I], 'expand.bias': [I], 'contract.weight': [I, C], 'contract.bias': [C] },
  };
}

function llamaLayer(architecture: Architecture): Shapes {
  const { hidden: C, heads, kvHeads, headDim, intermediate: I } = architecture;
  const [queries, keys] = [heads * headDim, kvHeads * headDim];
  const matrices = (shapes: Shapes, hasBias: boolean): Shapes =>
    Object.fromEntries(
      Object.entries(shapes).flatMap(([name, shape]) => [
        [`${name}.weight`, shape],
        ...(hasBias ? [[`${name}.bias`, [shape[0]!]] as const] : []),
      ]),
    );
  return {
    ...matrices(
      { q: [queries, C], k: [keys, C], v: [keys, C], o: [C, queries] },
      architecture.hasAttentionBias,
    ),
    ...matrices({ gate: [I, C], up: [I, C], down: [C, I] }, architecture.hasMlpBias),
    'norm1.weight': [C],
    'norm2.weight': [C],
  };
}
