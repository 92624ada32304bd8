/**
 * The number of ranks along each axis of the mesh. The product is the number of ranks; one size may
 * be -1. Ranks are numbered row by row over pipeline, data, fsdp, expert, context and tensor: those
 * of one `tensor` line are neighbours.
 */
export interface MeshOptions {
  /** Groups of ranks, each of which has all parameters. */
  readonly data?: number;
  /** Ranks over which parameters are divided. The strategy `auto` is `fsdp` with this axis. */
  readonly fsdp?: number;
  /** Ranks over which single operators and their parameters are cut. Default 1. */
  readonly tensor?: number;
  /** Ranks over which sequences are cut. Default 1. */
  readonly context?: number;
  /** Ranks over which the layers of a model are divided. Default 1. */
  readonly pipeline?: number;
  /** Ranks over which experts are divided. Default 1. */
  readonly expert?: number;
}
