export interface BundleOptions {
  /** The path of the file to write. Its source map is beside it, with `.map` after its name. */
  readonly into: string;
  /** Conditions of exports besides those of Node.js. */
  readonly conditions: readonly string[];
}
