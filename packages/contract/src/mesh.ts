import type { Collective } from './collective.js';

/**
 * Names of the axes along which ranks can be laid out, outermost first: ranks count row by row, the last axis fastest, so that
 * what talks most sits closest. The names are those of Megatron-LM and of PyTorch's DeviceMesh.
 */
export const MESH_AXES = ['pipeline', 'data', 'fsdp', 'expert', 'context', 'tensor'] as const;

export type MeshAxis = (typeof MESH_AXES)[number];

/** How the ranks of a job are laid out, and where this rank is. */
export interface Mesh {
  /** The axes that the job has, outermost first. */
  readonly axes: readonly MeshAxis[];
  /** This rank's index along each axis. */
  readonly coordinates: Readonly<Partial<Record<MeshAxis, number>>>;
  /** Ranks along an axis; 1 for an axis that the job does not have. */
  size(axis: MeshAxis): number;
  /** The job's ranks whose coordinates differ from this rank's in `axis` only, this rank included, ascending. */
  ranks(axis: MeshAxis): readonly number[];
  /** The group of {@link ranks}, whose rank is this rank's coordinate; a group of one for an axis that the job does not have. */
  along(axis: MeshAxis): Collective;
  /**
   * The ranks that get rows of their own. They share out batches and datasets, weigh losses by their rows, and gather metrics
   * of real rows. Ranks that differ in another axis get the same rows.
   */
  readonly dataRanks: Collective;
}
