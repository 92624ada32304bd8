// Cases of one process on two ranks of each of some axes of a mesh.
import type { Cases, MeshComparison, OnMesh } from './compare-meshes.js';
import type { Case } from './train.js';

export const BF16 = { mixedPrecision: 'bf16' } as const;
export const FP16_GROWING = {
  mixedPrecision: 'fp16',
  amp: { lossScale: { initial: 4, growthInterval: 3 } },
} as const;

/** The settings that an axis adds to a training. */
const AXES: Readonly<Record<string, Partial<Case>>> = {
  data: {},
  fsdp: { options: { strategy: 'fsdp' } },
  expert: {},
  context: { options: { context: { attention: 'ring' } } },
  tensor: { plan: 'auto' },
  pipeline: { pipelined: { microBatches: 2 } },
};
const CUT = { wte: 'vocab', in: 'column', mid: 'row', logits: 'vocab' } as const;
const STAGED = { microBatches: 2, stages: [['wte', 'in', 'mid'], ['logits']] } as const;

export interface CasesOnAxes<Name extends string> {
  /** A case on two ranks of each of these axes. */
  on(like: Name, ...axes: readonly (keyof typeof AXES)[]): OnMesh<Name>;
  /** A case on several meshes, which are lists of axes as text: `data × tensor`. */
  casesOf(like: Name, meshes: readonly string[]): Cases<Name>;
}

export function casesOn<Name extends string>(comparison: MeshComparison<Name>): CasesOnAxes<Name> {
  const on: CasesOnAxes<Name>['on'] = (like, ...axes) => {
    const parts = axes.map((axis) => AXES[axis]!);
    const options = Object.assign({}, ...parts.map((part) => part.options)) as Case['options'];
    const mesh = Object.fromEntries(axes.map((axis) => [axis, 2]));
    const own: Partial<Case> = Object.assign({}, ...parts, { options });
    const ofIntegers = { ...(own.plan && { plan: CUT }), ...(own.pipelined && { pipelined: STAGED }) };
    return comparison.onMesh(like, mesh, { ...own, ...(like.startsWith('integers') && ofIntegers) });
  };
  return {
    on,
    casesOf: (like, meshes) =>
      Object.fromEntries(meshes.map((mesh) => [`${like} on ${mesh}`, on(like, ...mesh.split(' × '))])),
  };
}
