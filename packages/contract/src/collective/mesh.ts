import type { Collective } from './collective.js';

/**
 * The names of the axes along which ranks can be laid out, outermost first. Ranks are numbered in
 * row-major order: the last axis varies fastest, so axes with the most communication have
 * neighbouring ranks. The names are those of Megatron-LM and of PyTorch's DeviceMesh.
 */
export const MESH_AXES = ['pipeline', 'data', 'fsdp', 'expert', 'context', 'tensor'] as const;

export type MeshAxis = (typeof MESH_AXES)[number];

/** Axes along which ranks get rows of their own. */
export const DATA_AXES: readonly MeshAxis[] = ['data', 'fsdp', 'expert'];

/** Axes along which the gradients of replicated parameters are summed. */
export const GRADIENT_AXES: readonly MeshAxis[] = [...DATA_AXES, 'context'];

/**
 * Axes along which ranks have parts of the weights of a model, so that its forward passes exchange
 * weights or rows along them.
 */
export const FORWARD_AXES: readonly MeshAxis[] = ['pipeline', 'fsdp', 'expert', 'tensor'];

/** The layout of the ranks of a job, and the position of this rank. */
export interface Mesh {
  /** The axes of the job, outermost first. */
  readonly axes: readonly MeshAxis[];
  /** This rank's index along each axis. */
  readonly coordinates: Readonly<Partial<Record<MeshAxis, number>>>;
  /** The number of ranks along an axis. 1 for an axis that the job does not have. */
  size(axis: MeshAxis): number;
  /**
   * The ranks of the job whose coordinates differ from this rank's only in `axis`, including this
   * rank, ascending.
   */
  ranks(axis: MeshAxis): readonly number[];
  /**
   * The group of {@link ranks}. The rank in it is this rank's coordinate. A group of one for an
   * axis that the job does not have.
   */
  along(axis: MeshAxis): Collective;
  /**
   * The ranks that get different rows. They divide batches and datasets, weight losses by their
   * rows, and gather metrics of real rows. Ranks that differ only in another axis get the same
   * rows.
   */
  readonly dataRanks: Collective;
  /**
   * The ranks over which gradients of a replicated parameter are summed: those with different rows,
   * or with other parts of the same rows along `context`. Ranks that differ only in another axis
   * already have the same gradients, or other parameters.
   */
  readonly gradientRanks: Collective;
  /**
   * The group of the ranks whose coordinates differ from this rank's only in `axes`. It is created
   * at the first call with these axes, so every rank of the job must make that call at the same
   * point.
   */
  over(axes: readonly MeshAxis[]): Collective;
  /** Closes the groups that the mesh has created. */
  close(): void;
}
