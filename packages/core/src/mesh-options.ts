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
  /** Ranks over which single operators and their parameters are cut. */
  readonly tensor?: number;
  /** Ranks over which sequences are cut. */
  readonly context?: number;
  /** Ranks over which the layers of a model are divided. */
  readonly pipeline?: number;
  /** Ranks over which experts are divided. */
  readonly expert?: number;
}
